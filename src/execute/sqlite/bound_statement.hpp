// A statement on the caller's own connection, with the parameters that its text names.
#pragma once
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include <onceguard/first_row.hpp>

#include "base/unique_handle.hpp"

namespace onceguard::sqlite {

/// Throws statement_failed where SQLite refuses something.
class bound_statement {
 public:
  bound_statement(sqlite3* database, std::string_view text);

  /// False: the text does not have this one, counted from 1. The value must outlive the run.
  bool bind(std::size_t number, const sql_value& value);
  /// Throws std::invalid_argument for a parameter that the text does not have.
  void bind_all(const std::vector<sql_value>& parameters);

  /// The first row; the statement is run to its end, and may be run again.
  [[nodiscard]] std::optional<std::vector<sql_value>> run();

 private:
  [[nodiscard]] std::vector<sql_value> columns() const;

  sqlite3* database_;
  base::unique_handle<sqlite3_stmt, sqlite3_finalize> statement_;
};

/// Of a parameter, counted from 1, that no statement has.
[[nodiscard]] std::invalid_argument unused_parameter(std::size_t number);

}  // namespace onceguard::sqlite
