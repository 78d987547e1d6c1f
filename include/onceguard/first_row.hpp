// The row that the first of several equal operations made: a repeat gets its answer from it, with a
// unique constraint or a guarded change of state in the place of an idempotency key.
// first_row_postgres.hpp and first_row_sqlite.hpp have the functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace onceguard {
inline namespace v1 {

/// A value as text; none: the SQL null.
using sql_value = std::optional<std::string>;

/// A statement, and the values of its parameters `$1`, `$2` … in their order.
struct sql_statement {
  std::string text;                     ///< without a semicolon
  std::vector<sql_value> parameters{};  ///< for PostgreSQL as many as the text has
};

/// A row, and who made it.
struct first_row {
  bool made = false;               ///< by this call; else by an earlier one
  std::vector<sql_value> columns;  ///< in the order of the statement

  /// Equal in both members.
  friend bool operator==(const first_row&, const first_row&) = default;
};

}  // namespace v1
}  // namespace onceguard
