#include "store/postgres/connection/session_setup.hpp"

#include <algorithm>

#include "store/postgres/queries/statements.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

bool send(PGconn* connection, const char* text, std::initializer_list<const char*> values = {}) {
  return PQsendQueryParams(connection, text, static_cast<int>(values.size()), nullptr,
                           values.begin(), nullptr, nullptr, 1) == 1;
}

}  // namespace

bool send_process_question(PGconn* connection) {
  return send(connection, "SELECT pg_catalog.pg_backend_pid()");
}

bool send_settings(PGconn* connection, milliseconds timeout, validity span) {
  const auto statement = std::to_string(timeout.count());
  // lock_timeout is well below statement_timeout: a row that another transaction holds fails alone.
  const auto lock = std::to_string(std::max<std::int64_t>(timeout.count() / 4, 1));
  // READ COMMITTED: each statement sees what was committed when it began, on which check_memory
  // relies. Without warnings nobody would learn that a wait for the standby was cancelled. A commit
  // that is not flushed, or not replicated as configured, would lose granted leases.
  // The default isolation level has no meaning within a transaction: see send_begin(). Nothing
  // depends on search_path, because all names are qualified.
  return send(
      connection,
      "SELECT pg_catalog.set_config('synchronous_commit', CASE"
      " pg_catalog.current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply'"
      " ELSE 'on' END, $3),"
      " pg_catalog.set_config('default_transaction_isolation', 'read committed', $3),"
      " pg_catalog.set_config('statement_timeout', $1, $3),"
      " pg_catalog.set_config('lock_timeout', $2, $3),"
      " pg_catalog.set_config('idle_in_transaction_session_timeout', $1, $3),"
      " pg_catalog.set_config('client_min_messages', 'warning', $3),"
      " pg_catalog.set_config('enable_seqscan', 'off', $3),"
      " pg_catalog.set_config('enable_hashjoin', 'off', $3),"
      " pg_catalog.set_config('enable_mergejoin', 'off', $3),"
      " pg_catalog.set_config('jit', 'off', $3),"
      " pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', $3)",
      {statement.c_str(), lock.c_str(), span == validity::transaction ? "t" : "f"});
}

bool send_begin(PGconn* connection) {
  return send(connection, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
}

bool send_commit(PGconn* connection) { return send(connection, "COMMIT"); }

bool send_rollback(PGconn* connection) { return send(connection, "ROLLBACK"); }

bool send_hello(PGconn* connection, const known_memory& known) {
  parameters all;
  all.int4(schema_version);
  known.write(all);
  return all.send_text(connection,
                       "SELECT h.schema_version, h.minimum_version, h.identity, h.older, h.now"
                       " FROM onceguard.hello($1, $2, $3, $4, $5) h");
}

greeting read_greeting(const rows& answer) {
  answer.expect_columns(5);
  if (answer.size() != 1) throw unexpected_answer("the schema does not say what it is");
  greeting out;
  out.schema_version = answer.integer(0, 0);
  out.minimum_version = answer.integer(0, 1);
  out.identity = answer.bytes(0, 2);
  out.older = answer.boolean(0, 3);
  out.now = answer.integer(0, 4);
  return out;
}

bool send_preparations(PGconn* connection) {
  const auto all = all_statements();
  return std::all_of(all.begin(), all.end(), [connection](const statement* each) {
    return PQsendPrepare(connection, each->name, each->text, 0, nullptr) == 1 &&
           PQpipelineSync(connection) == 1;
  });
}

bool send_listen(PGconn* connection) { return send(connection, "LISTEN onceguard_settled"); }

bool send_marker(PGconn* connection) {
  return send(connection, "SELECT pg_catalog.pg_logical_emit_message(true, 'onceguard', '')");
}

}  // namespace onceguard::postgres
