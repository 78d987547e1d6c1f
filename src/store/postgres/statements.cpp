#include "store/postgres/statements.hpp"

#include <algorithm>
#include <array>

#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

struct preparation {
  const char* name;
  const char* text;
};

constexpr std::array<preparation, 13> preparations{{
    {statement::claim, "SELECT * FROM onceguard.claim_batch($1, $2, $3, $4)"},
    {statement::settle, "SELECT * FROM onceguard.settle_batch($1, $2)"},
    {statement::extend, "SELECT * FROM onceguard.extend_batch($1)"},
    {statement::resolve, "SELECT * FROM onceguard.resolve($1, $2, $3, $4, $5, $6, $7, $8, $9)"},
    {statement::import_record,
     "SELECT * FROM onceguard.adopt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
     " $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32,"
     " $33)"},
    {statement::find, "SELECT * FROM onceguard.find($1, $2)"},
    {statement::list, "SELECT * FROM onceguard.list_piece($1, $2, $3, $4, $5, $6)"},
    {statement::counts, "SELECT * FROM onceguard.counts_piece($1, $2)"},
    {statement::sweep, "SELECT onceguard.sweep($1, $2)"},
    {statement::vitals, "SELECT * FROM onceguard.vitals($1, $2)"},
    {statement::epoch, "SELECT * FROM onceguard.accelerator_epoch($1)"},
    {statement::note, "SELECT onceguard.note_accelerator($1, $2, $3, $4)"},
    // A hint only: its commit need not wait for the disk.
    {statement::announce,
     "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
     " pg_catalog.pg_notify('onceguard_settled', $1)"},
}};

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
      " pg_catalog.set_config('client_min_messages', 'warning', $3)",
      {statement.c_str(), lock.c_str(), span == validity::transaction ? "t" : "f"});
}

bool send_begin(PGconn* connection) {
  return send(connection, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
}

bool send_commit(PGconn* connection) { return send(connection, "COMMIT"); }

bool send_rollback(PGconn* connection) { return send(connection, "ROLLBACK"); }

bool send_hello(PGconn* connection) {
  const auto known = std::to_string(schema_version);
  return send(connection,
              "SELECT h.schema_version, h.minimum_version, h.identity, h.claim_item,"
              " h.settle_item, h.extend_item, v.now, v.generation"
              " FROM onceguard.hello($1) h, onceguard.vitals() v",
              {known.c_str()});
}

bool send_failover_check(PGconn* connection) {
  const auto known = std::to_string(schema_version);
  return send(connection, "SELECT onceguard.hello($1)", {known.c_str()});
}

greeting read_greeting(const rows& answer) {
  answer.expect_columns(8);
  if (answer.size() != 1) throw unexpected_answer("the schema does not say what it is");
  greeting out;
  out.schema_version = answer.integer(0, 0);
  out.minimum_version = answer.integer(0, 1);
  out.identity = answer.bytes(0, 2);
  out.claim_item = static_cast<Oid>(answer.integer(0, 3));
  out.settle_item = static_cast<Oid>(answer.integer(0, 4));
  out.extend_item = static_cast<Oid>(answer.integer(0, 5));
  out.now = answer.integer(0, 6);
  out.generation = static_cast<std::uint64_t>(answer.integer(0, 7));
  return out;
}

bool send_raise_tokens(PGconn* connection) {
  return send(connection, "SELECT onceguard.raise_tokens()");
}

bool send_another_memory(PGconn* connection, const std::string& identity) {
  return send(connection, "SELECT onceguard.begin_another_memory($1)", {identity.c_str()});
}

bool send_preparations(PGconn* connection) {
  return std::all_of(preparations.begin(), preparations.end(),
                     [connection](const preparation& one) {
                       return PQsendPrepare(connection, one.name, one.text, 0, nullptr) == 1;
                     });
}

bool send_listen(PGconn* connection) { return send(connection, "LISTEN onceguard_settled"); }

const char* text_of(std::string_view name) noexcept {
  return std::find_if(preparations.begin(), preparations.end(),
                      [name](const preparation& one) { return one.name == name; })
      ->text;
}

bool send_marker(PGconn* connection) {
  return send(connection, "SELECT pg_catalog.pg_logical_emit_message(true, 'onceguard', '')");
}

}  // namespace onceguard::postgres
