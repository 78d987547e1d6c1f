// Exactly once inside a PostgreSQL transaction: the record of the operation and what the operation
// writes commit together. On a connection of libpq that the caller owns; pqxx.hpp does the same
// for libpqxx. The database has the schema of `onceguard migrate`, the role is in onceguard_app.
#pragma once
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <onceguard/execute.hpp>

struct pg_conn;    // libpq-fe.h calls it PGconn
struct pg_result;  // and this one PGresult

namespace onceguard::postgres {

/// Runs `work` once for this request, and gives its answer to every repeat while that is kept.
///
/// Without an open transaction on `on`, it begins one, claims the key in it, runs `work`, stores
/// its answer and commits: one COMMIT in all, with synchronous_commit on. Within an open one it
/// joins in (a savepoint): the caller commits, and sends the answer after that. A crash at any
/// instruction, or an exception of `work`, leaves nothing behind, and a repeat runs anew.
///
/// @return What became of it, by `kind`: `run` (it ran now, and `answer` is its answer), `replay`
///   (`answer` is the stored one; null: it took effect, and no answer was kept), `busy` (somebody
///   has it at this moment), `mismatch` (the key was used with another fingerprint), `backoff`
///   (it failed through `onceguard.fail`) or `unknown` (begun outside of a transaction, and nobody
///   knows what became of it). In all but `run`, `work` did not run and nothing was written.
/// Errors, all of them with nothing done (`effect::none`) unless said otherwise:
///   errc::write_conflict: serialization failure or deadlock; run the transaction again.
///   errc::store_unreachable: the connection broke or the server goes down; with effect::unknown
///     it broke during COMMIT: call again on another connection, which tells.
///   errc::conflict: a statement of `work` failed, or the commit was refused (a deferred
///     constraint), or `on` is within a failed transaction or a statement.
///   errc::invalid_argument: the request, the schema, or the rights are not what they should be.
///   errc::record_unreadable: the record of this key is damaged or a newer version's.
///
/// Thread-safety: as the connection, one thread at a time. Blocks. `work` uses the same
/// connection, leaves the transaction open, and may call execute for another key.
[[nodiscard]] result<verdict> execute(pg_conn* connection, const request& request,
                                      const execute_policy& policy, const effect_work& work);
[[nodiscard]] result<verdict> execute(pg_conn* connection, const request& request,
                                      const effect_work& work);

/// The same in several transactions, for work that calls somebody else in between. Each step
/// commits with the mark that it is done; after a crash the next call goes on behind the last
/// one, at once if the attempt before ended with an exception, else when its lease is over. An
/// attempt that was overtaken can't commit a step any more. What stands between two steps may run
/// again in each attempt: give it `flow.key_for(…)` as its idempotency key.
/// Needs `on` outside of a transaction. Errors as above, and: errc::write_conflict with
/// effect::unknown: overtaken by another attempt; errc::store_unreachable may come with
/// effect::unknown at any step. Call again: it goes on, or tells.
[[nodiscard]] result<verdict> execute_steps(pg_conn* connection, const request& request,
                                            const execute_policy& policy, const steps_work& work);
[[nodiscard]] result<verdict> execute_steps(pg_conn* connection, const request& request,
                                            const steps_work& work);

/// A statement that did not succeed. Thrown by `check`, for callables: execute passes it on like
/// any exception, but where the SQLSTATE is of class 40 (serialization failure, deadlock) or the
/// connection is lost: those it returns as errors, or tries again as the policy says.
class statement_failed : public std::runtime_error {
 public:
  statement_failed(std::string sqlstate, const std::string& text, bool lost = false)
      : std::runtime_error(text), sqlstate_(std::move(sqlstate)), lost_(lost) {}
  [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
  /// The connection is gone: what was under way may have happened.
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  std::string sqlstate_;
  bool lost_;
};

/// Throws statement_failed unless this is the result of a statement that succeeded; `of` may be
/// null, as libpq returns it where the connection broke. Does not free it.
void check(const pg_conn* connection, const pg_result* result);

/// For adapters of other client libraries: a transaction that execute begins and ends, its own or
/// a part (a savepoint) of the caller's. Every statement is text of ASCII characters, without
/// parameters. What fails is thrown as statement_failed.
class sql_transaction {
 public:
  using row = std::vector<std::optional<std::string>>;  ///< columns as text; null: none

  sql_transaction() = default;
  sql_transaction(const sql_transaction&) = delete;
  sql_transaction& operator=(const sql_transaction&) = delete;
  virtual ~sql_transaction() = default;

  /// Is it a whole transaction (true), or a part of the caller's?
  [[nodiscard]] virtual bool whole() const noexcept = 0;
  virtual void begin(isolation_level level) = 0;
  /// The first row of its result; empty where there is none, or no statement.
  virtual row run(const std::string& statement) = 0;
  /// Runs this last statement, if it is not empty, and ends the transaction (or the savepoint).
  virtual void commit(const std::string& last_statement) = 0;
  /// Ends it without effect, if it is begun, however broken it is.
  virtual void roll_back() noexcept = 0;
};

[[nodiscard]] result<verdict> execute(sql_transaction& transaction, const request& request,
                                      const execute_policy& policy, const effect_work& work);
[[nodiscard]] result<verdict> execute_steps(sql_transaction& transaction, const request& request,
                                            const execute_policy& policy, const steps_work& work);

}  // namespace onceguard::postgres
