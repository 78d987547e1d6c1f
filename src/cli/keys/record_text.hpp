// The output of a record, and of what reconcile found out about a record: one line, a page of text,
// or JSON (that of a record is in text/record_json.hpp).
#pragma once
#include <string>

#include <onceguard/store.hpp>

#include "reconcile/reconcile.hpp"
#include "text/record_json.hpp"

namespace onceguard::cli::keys {

/// One line for a list, without the line end.
[[nodiscard]] std::string record_line(const record_view& seen);
/// The whole record in lines of "name  value". Includes the body only if it is text.
[[nodiscard]] std::string record_page(const record_view& seen);
/// What was looked at, for `--seen`: "TOKEN-REVISION", of a settled record "TOKEN".
[[nodiscard]] std::string seen_text(const record_view& seen);
/// An unreadable record, in the same forms.
[[nodiscard]] std::string record_line(const unreadable_record& seen);
[[nodiscard]] std::string record_page(const unreadable_record& seen);

/// One line for people, without the line end.
[[nodiscard]] std::string finding_line(const finding& found);
/// One JSON object on one line.
[[nodiscard]] std::string finding_json(const finding& found);
/// "3 done, 1 not done, 2 still unknown". Leaves out zero counts.
[[nodiscard]] std::string summary(const reconcile_counts& counts, bool preview);

}  // namespace onceguard::cli::keys
