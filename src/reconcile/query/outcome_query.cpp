#include "reconcile/query/outcome_query.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/hex.hpp"
#include "libpq/binary_format.hpp"
#include "libpq/conninfo.hpp"
#include "store/postgres/connection/remedy.hpp"

namespace onceguard::postgres {
namespace {

// The types of the columns, by their fixed OIDs in the server's catalogue.
namespace oid {
constexpr Oid bytea = 17, int8 = 20, int2 = 21, int4 = 23, text = 25, json = 114;
constexpr Oid text_list = 1009, varchar_list = 1015, varchar = 1043, jsonb = 3802;
}  // namespace oid

struct column_rule {
  const char* name;
  std::vector<Oid> types;
  const char* expected;
};

const std::array<column_rule, 4>& column_rules() {
  static const std::array<column_rule, 4> all{{
      {"outcome", {oid::text, oid::varchar}, "text"},
      {"status", {oid::int2, oid::int4, oid::int8}, "an integer"},
      {"headers", {oid::text_list, oid::varchar_list}, "text[]"},
      {"body", {oid::bytea, oid::text, oid::varchar, oid::json, oid::jsonb}, "bytea, text or json"},
  }};
  return all;
}

error wrong_query(const std::string& why) {
  return error(errc::invalid_argument, "[reconcile] query: " + why);
}

bool succeeded(const PGresult* got) noexcept {
  const auto status = PQresultStatus(got);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/// Checks the columns of the prepared statement, before any row is read.
std::string column_fault(const PGresult* described) {
  if (PQnfields(described) == 0) return "it has no columns, so it can't say anything";
  for (const auto& rule : column_rules()) {
    const int column = PQfnumber(described, rule.name);
    if (column < 0) continue;
    const auto type = PQftype(described, column);
    if (std::find(rule.types.begin(), rule.types.end(), type) == rule.types.end()) {
      return "the column " + std::string(rule.name) + " must be " + rule.expected;
    }
  }
  return {};
}

/// Values of the first row by column name. A column that is missing counts as null.
class first_row {
 public:
  explicit first_row(const PGresult* result) : result_(result), rows_(result) {}

  [[nodiscard]] bool has(const char* name) const noexcept {
    const int column = PQfnumber(result_, name);
    return column >= 0 && !rows_.null(0, column);
  }
  [[nodiscard]] std::int64_t integer(const char* name) const {
    return rows_.integer(0, PQfnumber(result_, name));
  }
  [[nodiscard]] std::vector<std::string> list(const char* name) const {
    return rows_.byte_array(0, PQfnumber(result_, name));
  }
  [[nodiscard]] std::string bytes(const char* name) const {
    const int column = PQfnumber(result_, name);
    auto value = rows_.bytes(0, column);
    if (PQftype(result_, column) == oid::jsonb && !value.empty())
      value.remove_prefix(1);  // the version byte of jsonb
    return std::string(value);
  }

 private:
  const PGresult* result_;
  const rows rows_;
};

effect_report unknown_for(std::string why) {
  return {effect_status::unknown, nullptr, std::move(why)};
}

/// The report of a row that says done. If `status` and `body` are null or missing, the answer is
/// not known.
effect_report read_answer(const first_row& row) {
  effect_report out;
  out.status = effect_status::done;
  if (!row.has("status") && !row.has("body")) return out;
  const auto status = row.has("status") ? row.integer("status") : 200;
  if (status < 200 || status > 599) return unknown_for("status " + std::to_string(status));
  auto known = std::make_shared<answer>();
  known->status = static_cast<std::uint16_t>(status);
  if (row.has("body")) known->body = row.bytes("body");
  if (row.has("headers")) {
    const auto flat = row.list("headers");
    if (flat.size() % 2 != 0) return unknown_for("a header without a value");
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      known->headers.emplace_back(flat[i], flat[i + 1]);
    }
  }
  out.answer = std::move(known);
  return out;
}

effect_report read_outcome(const PGresult* got, bool absent_is_not_done) {
  if (PQntuples(got) == 0) {
    if (!absent_is_not_done) return unknown_for("no row");
    return {effect_status::not_done, nullptr, {}};
  }
  if (PQntuples(got) > 1) return unknown_for("more than one row");
  const first_row row(got);
  if (PQfnumber(got, "outcome") < 0) return read_answer(row);
  const auto reply = row.has("outcome") ? row.bytes("outcome") : std::string();
  if (reply == "done") return read_answer(row);
  if (reply == "none") return {effect_status::not_done, nullptr, {}};
  return unknown_for(reply == "unknown" ? "the query says so"
                                        : "outcome is neither 'done', 'none' nor 'unknown'");
}

constexpr const char* unnamed = "";  // nothing stays prepared in the session
constexpr std::array<Oid, 3> parameter_types{oid::text, oid::text, oid::int8};

/// A transaction with its own settings. A pooler may give the session to another client after it,
/// and may have given it to another client before it.
class transaction {
 public:
  transaction(PGconn* connection, const outcome_query_params& params) : connection_(connection) {
    const std::string begin = params.read_only ? "BEGIN READ ONLY" : "BEGIN READ WRITE";
    begun_ =
        run(begin + "; SET LOCAL statement_timeout = " + std::to_string(params.timeout.count()) +
            "; SELECT pg_catalog.set_config('synchronous_commit', 'on', true) WHERE"
            " pg_catalog.current_setting('synchronous_commit') <> 'remote_apply'");
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (!ended_) run("ROLLBACK");
  }

  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] bool commit() {
    ended_ = true;
    return run("COMMIT");
  }
  [[nodiscard]] const failure& failed() const noexcept { return failed_; }

 private:
  bool run(const std::string& sql) {
    const result_ptr got(PQexec(connection_, sql.c_str()));
    if (succeeded(got.get())) return true;
    failed_ = got ? failure_of(got.get()) : failure_of(connection_);
    return false;
  }

  PGconn* connection_;
  failure failed_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

result<void> outcome_query::open() {
  if (connection_ && PQstatus(connection_.get()) == CONNECTION_OK) {
    // The connection may have broken unnoticed since the last round.
    const result_ptr alive(PQexec(connection_.get(), ""));
    if (PQresultStatus(alive.get()) == PGRES_EMPTY_QUERY) return {};
  }
  connection_.reset();
  if (auto made = connect(); !made) return made.error();
  auto ready = set_up();
  if (!ready) connection_.reset();
  return ready;
}

result<void> outcome_query::connect() {
  const auto where = parse_conninfo(params_.url, params_.timeout);
  if (!where) return error(where.error().code, "[reconcile] database: " + where.error().detail);
  auto made = postgres::connect(*where, params_.timeout);
  if (PQstatus(made.handle.get()) != CONNECTION_OK) {
    return to_error(failure_of(made.handle.get()), made.server->name, effect::none);
  }
  connection_ = std::move(made.handle);
  name_ = made.server->name;
  return {};
}

result<void> outcome_query::set_up() {
  const transaction checking(connection_.get(), params_);
  if (!checking.begun()) return to_error(checking.failed(), name_, effect::none);
  const result_ptr made(PQprepare(connection_.get(), unnamed, params_.query.c_str(),
                                  parameter_types.size(), parameter_types.data()));
  if (!succeeded(made.get())) {
    const auto why = failure_of(made.get());
    return why.lost ? to_error(why, name_, effect::none) : wrong_query(why.text);
  }
  const result_ptr described(PQdescribePrepared(connection_.get(), unnamed));
  if (!succeeded(described.get())) {
    return to_error(failure_of(described.get()), name_, effect::none);
  }
  if (PQnparams(described.get()) > static_cast<int>(parameter_types.size())) {
    return wrong_query("there are the parameters $1 (scope), $2 (key) and $3 (token) only");
  }
  if (auto fault = column_fault(described.get()); !fault.empty()) return wrong_query(fault);
  return {};
}

effect_report outcome_query::ask(const digest& scope, const std::string& key, token lease_token) {
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK)
    return unknown_for("the database is out of reach");
  const auto hex = base::to_hex(scope);
  const auto number = std::to_string(lease_token);
  const std::array<const char*, 3> values{hex.c_str(), key.c_str(), number.c_str()};
  transaction asking(connection_.get(), params_);
  if (!asking.begun()) return unknown_for(asking.failed().text);
  const result_ptr got(PQexecParams(connection_.get(), params_.query.c_str(), values.size(),
                                    parameter_types.data(), values.data(), nullptr, nullptr, 1));
  if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) {
    const auto why = got ? failure_of(got.get()) : failure_of(connection_.get());
    return unknown_for(why.text.empty() ? "the query gave no rows" : why.text);
  }
  if (!asking.commit()) return unknown_for(asking.failed().text);
  try {
    return read_outcome(got.get(), params_.absent_is_not_done);
  } catch (const unexpected_answer& wrong) {
    return unknown_for(wrong.what());
  }
}

}  // namespace onceguard::postgres
