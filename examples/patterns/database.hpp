// The database of the example, as far as SQLite and PostgreSQL are the same.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <onceguard/first_row.hpp>

namespace patterns {

using onceguard::first_row;
using onceguard::sql_statement;
using onceguard::sql_value;
using row = std::vector<sql_value>;

/// A constraint refused a row.
struct refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One connection, for one thread.
class database {
 public:
  /// "sqlite:FILE" or "postgresql://…".
  static std::unique_ptr<database> open(const std::string& url);
  database() = default;
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  virtual ~database() = default;

  /// The type of a column whose values the database makes.
  [[nodiscard]] virtual const char* identity() const noexcept = 0;
  virtual std::vector<row> run(const sql_statement& statement) = 0;
  virtual first_row insert_once(const std::string& insert, const std::string& find,
                                const std::vector<sql_value>& parameters) = 0;
  virtual std::optional<first_row> change_once(const sql_statement& change,
                                               const sql_statement& find) = 0;
  /// All of it, or nothing.
  void in_transaction(const std::function<void()>& work);

 private:
  [[nodiscard]] virtual const char* begin() const noexcept = 0;
};

}  // namespace patterns
