#include "execute/postgres/libpq_transaction.hpp"

#include <stdexcept>
#include <string_view>

#include "libpq/binary_format.hpp"
#include "store/postgres/connection/remedy.hpp"

namespace onceguard::postgres {
namespace {

const char* begin_of(isolation_level level) noexcept {
  switch (level) {
    case isolation_level::as_session:
      break;
    case isolation_level::read_committed:
      return "BEGIN ISOLATION LEVEL READ COMMITTED;";
    case isolation_level::repeatable_read:
      return "BEGIN ISOLATION LEVEL REPEATABLE READ;";
    case isolation_level::serializable:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE;";
  }
  return "BEGIN;";
}

/// Returns the result of the last statement in the text, or of the one that failed.
result_ptr send(PGconn* connection, const std::string& text) {
  result_ptr got(PQexec(connection, text.c_str()));
  check(connection, got.get());
  return got;
}

}  // namespace

void v1::check(const PGconn* connection, const PGresult* result) {
  switch (result == nullptr ? PGRES_FATAL_ERROR : PQresultStatus(result)) {
    case PGRES_BAD_RESPONSE:
    case PGRES_FATAL_ERROR:
    case PGRES_PIPELINE_ABORTED:
      break;
    default:
      return;
  }
  const auto failed = result == nullptr ? failure_of(connection) : failure_of(result);
  const bool broken = failed.sqlstate.empty() || PQstatus(connection) != CONNECTION_OK;
  throw statement_failed(failed.sqlstate, failed.text, failed.lost || broken);
}

std::optional<error> not_ready(const PGconn* connection) {
  const auto refuse = [](const char* why) { return error(errc::conflict, why); };
  if (PQstatus(connection) != CONNECTION_OK) {
    return error(errc::store_unreachable, "postgresql: the connection is not open");
  }
  if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
    return refuse("postgresql: the connection is in pipeline mode");
  }
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_IDLE:
    case PQTRANS_INTRANS:
      return std::nullopt;
    case PQTRANS_INERROR:
      return refuse("postgresql: the caller's transaction has failed: roll it back first");
    default:
      return refuse("postgresql: the connection is busy with another statement");
  }
}

libpq_transaction::libpq_transaction(PGconn* connection)
    : connection_(connection), whole_(PQtransactionStatus(connection) == PQTRANS_IDLE) {}

void libpq_transaction::begin(isolation_level level) {
  to_send_ = whole_ ? begin_of(level) : "SAVEPOINT onceguard;";
}

sql_transaction::row libpq_transaction::run(const std::string& statement) {
  begun_ = true;
  const auto got = send(connection_, std::exchange(to_send_, {}) + statement);
  row out;
  if (PQntuples(got.get()) == 0) return out;
  const rows first(got.get());
  for (int column = 0; column < first.columns(); ++column) {
    if (first.null(0, column)) {
      out.emplace_back();
    } else {
      out.emplace_back(std::in_place, first.bytes(0, column));
    }
  }
  return out;
}

void libpq_transaction::commit(const std::string& last_statement) {
  const auto now = PQtransactionStatus(connection_);
  if (now == PQTRANS_INERROR) throw statement_failed("25P02", "a statement of the work failed");
  if (now == PQTRANS_IDLE && begun_) {
    begun_ = false;
    throw std::logic_error("execute: the work ended the transaction that it ran in");
  }
  auto text = std::exchange(to_send_, {}) + last_statement;
  if (!last_statement.empty()) text += ';';
  begun_ = true;
  const auto got = send(connection_, text + (whole_ ? "COMMIT" : "RELEASE SAVEPOINT onceguard"));
  begun_ = false;
  const std::string_view done = PQcmdStatus(got.get());
  // PostgreSQL answers the COMMIT of a failed transaction so, and with no error.
  if (done == "ROLLBACK") throw statement_failed("40000", "the server rolled it back");
}

void libpq_transaction::roll_back() noexcept {
  to_send_.clear();
  if (!std::exchange(begun_, false)) return;
  const char* end = whole_ ? "ROLLBACK" : "ROLLBACK TO onceguard; RELEASE SAVEPOINT onceguard";
  // A cancellation that was meant for the work may come as late as this, and would leave the caller
  // a transaction that has failed.
  constexpr int tries_max = 3;
  for (int i = 0; i < tries_max && PQstatus(connection_) == CONNECTION_OK; ++i) {
    const result_ptr got(PQexec(connection_, end));
    if (PQresultStatus(got.get()) == PGRES_COMMAND_OK) return;
  }
}

}  // namespace onceguard::postgres
