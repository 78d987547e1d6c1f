#include <libpq-fe.h>
#include <stdexcept>

#include <onceguard/first_row_postgres.hpp>
#include <onceguard/postgres.hpp>

#include "base/unique_handle.hpp"
#include "execute/insert_form.hpp"
#include "libpq/binary_format.hpp"

namespace onceguard::postgres {
inline namespace v1 {
namespace {

constexpr int attempts_max = 8;

using owned_result = base::unique_handle<PGresult, PQclear>;

owned_result run(PGconn* connection, const std::string& text,
                 const std::vector<sql_value>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const auto& value : parameters) values.push_back(value ? value->c_str() : nullptr);
  owned_result got(PQexecParams(connection, text.c_str(), static_cast<int>(values.size()), nullptr,
                                values.data(), nullptr, nullptr, 0));
  check(connection, got.get());
  return got;
}

std::vector<sql_value> columns_of(const PGresult* got, int row, int first) {
  std::vector<sql_value> out;
  for (int column = first; column < PQnfields(got); ++column) {
    if (PQgetisnull(got, row, column) != 0) {
      out.emplace_back();
    } else {
      out.emplace_back(std::in_place, PQgetvalue(got, row, column),
                       static_cast<std::size_t>(PQgetlength(got, row, column)));
    }
  }
  return out;
}

/// The row that was made, else the one that was found; none: there is neither.
std::optional<first_row> made_or_found(const PGresult* got) {
  std::optional<first_row> out;
  for (int row = 0; row < PQntuples(got); ++row) {
    const bool made = std::string_view(PQgetvalue(got, row, 0)) == "t";
    // Both are there if the old row was removed after the statement had begun.
    if (!out || made) out = first_row{made, columns_of(got, row, 1)};
  }
  return out;
}

}  // namespace

std::string insert_once_text(std::string_view insert, std::string_view find) {
  if (!leaves_conflicts_alone(insert)) {
    throw std::invalid_argument("insert_once: the insert must say ON CONFLICT … DO NOTHING");
  }
  std::string out = "WITH onceguard_made AS (";
  out.append(insert).append(
      ") SELECT true, * FROM onceguard_made UNION ALL SELECT false, * FROM (");
  return out.append(find).append(") AS onceguard_found");
}

first_row insert_once(PGconn* connection, std::string_view insert, std::string_view find,
                      const std::vector<sql_value>& parameters) {
  const auto text = insert_once_text(insert, find);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const auto got = run(connection, text, parameters);
    // Without a row: the one in the way was committed after this statement's snapshot (PostgreSQL,
    // 13.2.1), and the next statement sees it, or that it has gone.
    if (auto row = made_or_found(got.get())) return std::move(*row);
  }
  throw statement_failed("P0002", "insert_once: no row was inserted, and none is found by \"" +
                                      std::string(find) + "\"");
}

std::optional<first_row> change_once(PGconn* connection, const sql_statement& change,
                                     const sql_statement& find) {
  const auto changed = run(connection, change.text, change.parameters);
  if (PQntuples(changed.get()) > 0) return first_row{true, columns_of(changed.get(), 0, 0)};
  const auto found = run(connection, find.text, find.parameters);
  if (PQntuples(found.get()) == 0) return std::nullopt;
  return first_row{false, columns_of(found.get(), 0, 0)};
}

std::optional<std::string> duplicate_key(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (sqlstate == nullptr || std::string_view(sqlstate) != "23505") return std::nullopt;
  const char* name = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
  return name == nullptr ? std::string() : std::string(name);
}

}  // namespace v1
}  // namespace onceguard::postgres
