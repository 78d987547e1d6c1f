#include "execute/sqlite/bound_statement.hpp"

#include <string>

#include <onceguard/first_row_sqlite.hpp>

namespace onceguard::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* database) {
  throw statement_failed(sqlite3_extended_errcode(database), sqlite3_errmsg(database));
}

}  // namespace

bound_statement::bound_statement(sqlite3* database, std::string_view text) : database_(database) {
  sqlite3_stmt* made = nullptr;
  const int size = static_cast<int>(text.size());
  if (sqlite3_prepare_v2(database, text.data(), size, &made, nullptr) != SQLITE_OK) {
    fail(database);
  }
  statement_.reset(made);
  if (made == nullptr) throw std::invalid_argument("first_row: a statement is empty");
}

bool bound_statement::bind(std::size_t number, const sql_value& value) {
  const auto digits = std::to_string(number);
  int index = sqlite3_bind_parameter_index(statement_.get(), ("$" + digits).c_str());
  if (index == 0) index = sqlite3_bind_parameter_index(statement_.get(), ("?" + digits).c_str());
  if (index == 0) return false;
  const int done = value ? sqlite3_bind_text(statement_.get(), index, value->data(),
                                             static_cast<int>(value->size()), SQLITE_STATIC)
                         : sqlite3_bind_null(statement_.get(), index);
  if (done != SQLITE_OK) fail(database_);
  return true;
}

void bound_statement::bind_all(const std::vector<sql_value>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!bind(i + 1, parameters[i])) throw unused_parameter(i + 1);
  }
}

std::optional<std::vector<sql_value>> bound_statement::run() {
  std::optional<std::vector<sql_value>> out;
  int done = SQLITE_ROW;
  while ((done = sqlite3_step(statement_.get())) == SQLITE_ROW) {
    if (!out) out = columns();
  }
  if (done != SQLITE_DONE) fail(database_);
  sqlite3_reset(statement_.get());
  return out;
}

std::vector<sql_value> bound_statement::columns() const {
  std::vector<sql_value> out;
  for (int i = 0; i < sqlite3_column_count(statement_.get()); ++i) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), i));
    if (text == nullptr) {
      out.emplace_back();
    } else {
      out.emplace_back(std::in_place, text,
                       static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), i)));
    }
  }
  return out;
}

std::invalid_argument unused_parameter(std::size_t number) {
  return std::invalid_argument("first_row: no statement has the parameter $" +
                               std::to_string(number));
}

}  // namespace onceguard::sqlite
