// What reconcile found out about a record, as one line of text or JSON.
#pragma once
#include <string>

#include "reconcile/reconcile.hpp"

namespace onceguard::cli::stores {

/// One line for people, without the line end.
[[nodiscard]] std::string finding_line(const finding& found);
/// One JSON object on one line.
[[nodiscard]] std::string finding_json(const finding& found);
/// "3 done, 1 not done, 2 still unknown". Leaves out zero counts.
[[nodiscard]] std::string summary(const reconcile_counts& counts, bool preview);

}  // namespace onceguard::cli::stores
