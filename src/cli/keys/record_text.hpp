// A record as one line or a page of text. Its JSON is in text/record_json.hpp.
#pragma once
#include <string>

#include <onceguard/store.hpp>

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

}  // namespace onceguard::cli::keys
