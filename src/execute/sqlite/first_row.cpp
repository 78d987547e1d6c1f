#include <sqlite3.h>

#include <onceguard/first_row_sqlite.hpp>

#include "execute/insert_form.hpp"
#include "execute/sqlite/bound_statement.hpp"

namespace onceguard::sqlite {
inline namespace v1 {
namespace {

constexpr int attempts_max = 8;

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
    if (!finding.bind(i + 1, parameters[i]) && !inserted) throw unused_parameter(i + 1);
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
  changing.bind_all(change.parameters);
  if (auto row = changing.run()) return first_row{true, std::move(*row)};
  bound_statement finding(database, find.text);
  finding.bind_all(find.parameters);
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
