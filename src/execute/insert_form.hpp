// What an INSERT does with a row that is there already. Pure.
#pragma once
#include <string_view>

namespace onceguard {

/// Whether each conflict that the statement names leaves the row that is there as it is: it has
/// ON CONFLICT, and every one says DO NOTHING. After DO UPDATE or OR REPLACE the database returns
/// the row of a repeat as if it had just been made. Words in quotes and comments do not count.
[[nodiscard]] bool leaves_conflicts_alone(std::string_view insert);

}  // namespace onceguard
