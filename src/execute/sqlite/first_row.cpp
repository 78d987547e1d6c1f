
#include <sqlite3.h>

#include <onceguard/first_row_sqlite.hpp>

#include "base/unique_handle.hpp"
#include "execute/insert_form.hpp"

namespace onceguard::sqlite {
inline namespace v1 {
namespace {

constexpr int attempts_max = 8;

[[noreturn]] void fail(sqlite3* database) {
  throw statement_failed(sqlite3_extended_errcode(database), sqlite3_errmsg(database));
}

/// One statement, and which of the parameters it has.
class bound_statement {
 public:
  bound_statement(sqlite3* database, std::string_view text) : database_(database) {
    sqlite3_stmt* made = nullptr;
    const int size = static_cast<int>(text.size());
    if (sqlite3_prepare_v2(database, text.data(), size, &made, nullptr) != SQLITE_OK) {
      fail(database);
    }
    statement_.reset(made);
    if (made == nullptr) throw std::invalid_argument("first_row: a statement is empty");
  }

  /// False: the text does not have this one, counted from 1. The value must outlive the run.
  bool bind(std::size_t number, const sql_value& value) {
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

  /// The first row; the statement is run to its end, and may be run again.
  [[nodiscard]] std::optional<std::vector<sql_value>> run() {
    std::optional<std::vector<sql_value>> out;
    int done = SQLITE_ROW;
    while ((done = sqlite3_step(statement_.get())) == SQLITE_ROW) {
      if (!out) out = columns();
    }
    if (done != SQLITE_DONE) fail(database_);
    sqlite3_reset(statement_.get());
    return out;
  }

 private:
  [[nodiscard]] std::vector<sql_value> columns() const {
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

  sqlite3* database_;
  base::unique_handle<sqlite3_stmt, sqlite3_finalize> statement_;
};

std::invalid_argument unused(std::size_t number) {
  return std::invalid_argument("first_row: no statement has the parameter $" +
                               std::to_string(number));
}

void bind_all(bound_statement& statement, const std::vector<sql_value>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!statement.bind(i + 1, parameters[i])) throw unused(i + 1);
  }
}

}  // namespace

first_row insert_once(sqlite3* database, std::string_view insert, std::string_view find,
                      const std::vector<sql_value>& parameters) {
  if (!leaves_conflicts_alone(insert)) {
    throw std::invalid_argument("insert_once: the insert must say ON CONFLICT … DO NOTHING");
  }
  bound_statement inserting(database, insert);
  bound_statement finding(database, find);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool inserted = inserting.bind(i + 1, parameters[i]);
    if (!finding.bind(i + 1, parameters[i]) && !inserted) throw unused(i + 1);
  }
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (auto row = inserting.run()) return {true, std::move(*row)};
    if (auto row = finding.run()) return {false, std::move(*row)};
  }
  throw statement_failed(
      SQLITE_MISUSE,
      "insert_once: no row was inserted, and none is found by \"" + std::string(find) + "\"");
}

std::optional<first_row> change_once(sqlite3* database, const sql_statement& change,
                                     const sql_statement& find) {
  bound_statement changing(database, change.text);
  bind_all(changing, change.parameters);
  if (auto row = changing.run()) return first_row{true, std::move(*row)};
  bound_statement finding(database, find.text);
  bind_all(finding, find.parameters);
  if (auto row = finding.run()) return first_row{false, std::move(*row)};
  return std::nullopt;
}

std::optional<std::string> duplicate_key(sqlite3* database) {
  switch (sqlite3_extended_errcode(database)) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_ROWID:
      break;
    default:
      return std::nullopt;
  }
  constexpr std::string_view before = "UNIQUE constraint failed: ";
  std::string_view text = sqlite3_errmsg(database);
  if (const auto begin = text.find(before); begin != std::string_view::npos) {
    text.remove_prefix(begin + before.size());
  }
  return std::string(text);
}

}  // namespace v1
}  // namespace onceguard::sqlite
