// Exactly once inside a PostgreSQL transaction: the record and the data that the operation writes
// commit together. These functions use a libpq connection that the caller owns; pqxx.hpp has the
// same for libpqxx. The database must have the schema of `onceguard migrate`, and the role must be
// in onceguard_app.
#pragma once
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <onceguard/execute.hpp>

struct pg_conn;    // PGconn in libpq-fe.h
struct pg_result;  // PGresult in libpq-fe.h

/// Work that runs once, on PostgreSQL.
namespace onceguard::postgres {
inline namespace v1 {

/// Runs `work` once for this request, and returns its answer for every repeat while the answer is
/// kept.
///
/// Without an open transaction on `connection`, the call begins one, claims the key in it, runs
/// `work`, stores the answer and commits: one COMMIT in all, with synchronous_commit on. Inside an
/// open transaction, the call uses a savepoint: the caller commits, and sends the answer after the
/// commit. A crash at any instruction, or an exception of `work`, leaves no changes, and a repeat
/// runs anew.
///
/// @return The verdict, by `kind`: `run` (the work ran now; `answer` is its answer), `replay`
///   (`answer` is the stored answer; null: the operation took effect, and no answer was kept),
///   `busy` (another attempt has the key now), `mismatch` (the key was used with another
///   fingerprint), `backoff` (the operation failed through `onceguard.fail`) or `unknown` (the
///   operation was begun outside a transaction, and its outcome is unknown). In all cases but
///   `run`, `work` did not run and nothing was written.
/// Errors; unless noted otherwise, nothing was done (`effect::none`):
///   errc::write_conflict: serialization failure or deadlock; run the transaction again.
///   errc::store_unreachable: the connection broke or the server is shutting down. With
///   effect::unknown, the connection broke during COMMIT: repeat the call on another connection to
///   learn the outcome.
///   errc::conflict: a statement of `work` failed, or the commit was refused (a deferred
///   constraint), or `connection` is inside a failed transaction or a statement. With
///   effect::unknown, `work` committed the transaction that it ran in: what it wrote before is
///   durable, and the record holds the key until a person or a probe decides.
///   errc::invalid_argument: the request, the schema or the rights are not as required.
///   errc::record_unreadable: the record of this key is damaged or was written by a newer version.
///
/// Thread-safety: as for the connection, one thread at a time. Blocks. `work` uses the same
/// connection, leaves the transaction open (std::logic_error: it ended it, and what it committed is
/// durable), and may call execute for another key.
[[nodiscard]] result<verdict> execute(pg_conn* connection, const request& request,
                                      const execute_policy& policy, const effect_work& work);
/// The same with the default policy.
[[nodiscard]] result<verdict> execute(pg_conn* connection, const request& request,
                                      const effect_work& work);

/// The same in several transactions, for work that calls other services in between. Each step
/// commits with the mark that the step is done. After a crash, the next call continues after the
/// last completed step: at once if the previous attempt ended with an exception, otherwise when its
/// lease is over. A superseded attempt can't commit any more steps. The code between two steps may
/// run again in each attempt: pass `flow.key_for(…)` as the idempotency key of its calls.
/// `connection` must not be in a transaction. Errors as above, and: errc::write_conflict with
/// effect::unknown: superseded by another attempt; errc::store_unreachable may come with
/// effect::unknown at any step. Repeat the call: it continues, or returns the outcome.
[[nodiscard]] result<verdict> execute_steps(pg_conn* connection, const request& request,
                                            const execute_policy& policy, const steps_work& work);
/// The same with the default policy.
[[nodiscard]] result<verdict> execute_steps(pg_conn* connection, const request& request,
                                            const steps_work& work);

/// Whether `connection` is in a transaction, where execute uses a savepoint and the caller commits.
[[nodiscard]] bool has_open_transaction(pg_conn* connection) noexcept;

/// A statement that failed. `check` throws it, for use in callables. execute rethrows it like any
/// exception, unless the SQLSTATE is of class 40 (serialization failure, deadlock) or the
/// connection is lost: execute returns these two as errors, or runs the transaction again as the
/// policy says.
class statement_failed : public std::runtime_error {
 public:
  /// `lost`: the connection is lost. `text` is for people.
  statement_failed(std::string sqlstate, const std::string& text, bool lost = false)
      : std::runtime_error(text), sqlstate_(std::move(sqlstate)), lost_(lost) {}
  /// The five characters of the SQLSTATE; empty: there is none.
  [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
  /// The connection is lost: the statement may have been carried out.
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  std::string sqlstate_;
  bool lost_;
};

/// Throws statement_failed unless `result` is the result of a successful statement. `result` may be
/// null, as libpq returns it if the connection broke. Does not free `result`.
void check(const pg_conn* connection, const pg_result* result);

/// For adapters of other client libraries: a transaction that execute begins and ends. It is a
/// whole transaction, or a part (a savepoint) of the caller's. Every statement is ASCII text
/// without parameters. Failures are thrown as statement_failed.
class sql_transaction {
 public:
  using row = std::vector<std::optional<std::string>>;  ///< columns as text; nullopt: SQL null

  sql_transaction() = default;
  sql_transaction(const sql_transaction&) = delete;
  sql_transaction& operator=(const sql_transaction&) = delete;
  virtual ~sql_transaction() = default;

  /// True: a whole transaction. False: a part of the caller's transaction.
  [[nodiscard]] virtual bool whole() const noexcept = 0;
  /// Begins the transaction at this level, or the savepoint.
  virtual void begin(isolation_level level) = 0;
  /// Returns the first row of the result; empty if there is no row, or if `statement` is empty.
  virtual row run(const std::string& statement) = 0;
  /// Runs `last_statement`, if it is not empty, and ends the transaction (or the savepoint).
  virtual void commit(const std::string& last_statement) = 0;
  /// Rolls back the transaction if it has begun, in whatever state it is.
  virtual void roll_back() noexcept = 0;
};

/// The same with another client library.
[[nodiscard]] result<verdict> execute(sql_transaction& transaction, const request& request,
                                      const execute_policy& policy, const effect_work& work);
/// The same with another client library.
[[nodiscard]] result<verdict> execute_steps(sql_transaction& transaction, const request& request,
                                            const execute_policy& policy, const steps_work& work);

}  // namespace v1
}  // namespace onceguard::postgres
