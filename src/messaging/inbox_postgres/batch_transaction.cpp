#include "messaging/inbox_postgres/batch_transaction.hpp"

#include <optional>

#include "execute/postgres/sql_calls.hpp"
#include "libpq/binary_format.hpp"
#include "store/postgres/connection/remedy.hpp"

namespace onceguard::postgres {
namespace {

std::vector<sql_transaction::row> read(const PGresult* got) {
  std::vector<sql_transaction::row> out(static_cast<std::size_t>(PQntuples(got)));
  for (std::size_t row = 0; row < out.size(); ++row) {
    for (int column = 0; column < PQnfields(got); ++column) {
      const int line = static_cast<int>(row);
      if (PQgetisnull(got, line, column) != 0) {
        out[row].emplace_back();
      } else {
        out[row].emplace_back(PQgetvalue(got, line, column));
      }
    }
  }
  return out;
}

}  // namespace

batch_transaction::~batch_transaction() {
  if (!begun_ || PQtransactionStatus(connection_) == PQTRANS_IDLE) return;
  const result_ptr ignored(PQexec(connection_, "ROLLBACK"));
}

/// Returns the rows of the last statement that has rows.
std::vector<sql_transaction::row> batch_transaction::send(const std::string& text) {
  // PQexec would keep only the last of several results.
  if (PQsendQuery(connection_, text.c_str()) == 0) check(connection_, nullptr);
  std::vector<sql_transaction::row> out;
  std::optional<statement_failed> failure;
  while (const result_ptr got{PQgetResult(connection_)}) {
    try {
      check(connection_, got.get());
      if (PQresultStatus(got.get()) == PGRES_TUPLES_OK) out = read(got.get());
      const std::string_view done = PQcmdStatus(got.get());
      // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK, and with no error.
      if (done == "ROLLBACK" && text.ends_with("COMMIT")) {
        throw statement_failed("40000", "the server rolled the transaction back");
      }
    } catch (const statement_failed& failed) {
      if (!failure) failure = failed;
    }
  }
  if (failure) throw *failure;
  check_connection();  // a break may leave no result at all
  return out;
}

std::vector<sql_transaction::row> batch_transaction::begin(const std::string& statement,
                                                           milliseconds idle_max) {
  begun_ = true;
  fresh_savepoint_ = true;
  // A handler that hangs must not keep the locks of its records without end.
  return send("BEGIN;SET LOCAL idle_in_transaction_session_timeout=" +
              std::to_string(as_setting(idle_max)) + ';' + statement +
              ";SAVEPOINT onceguard_message");
}

void batch_transaction::next_message() {
  if (!std::exchange(fresh_savepoint_, false)) {
    send("RELEASE SAVEPOINT onceguard_message;SAVEPOINT onceguard_message");
  }
}

void batch_transaction::undo_message() {
  send("ROLLBACK TO SAVEPOINT onceguard_message");
  fresh_savepoint_ = true;
}

void batch_transaction::commit(const std::string& statements) {
  send("RELEASE SAVEPOINT onceguard_message;" + statements + "COMMIT");
  begun_ = false;
}

void batch_transaction::check_connection() const {
  if (PQstatus(connection_) != CONNECTION_OK) check(connection_, nullptr);
}

bool batch_transaction::open() const noexcept {
  const auto status = PQtransactionStatus(connection_);
  return begun_ && (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

bool batch_transaction::failed() const noexcept {
  return PQtransactionStatus(connection_) == PQTRANS_INERROR;
}

}  // namespace onceguard::postgres
