// Exactly once inside a SQLite transaction: the record and the data that the operation writes
// commit together, in the caller's own database file, on the caller's own connection.
#pragma once
#include <cstddef>

#include <onceguard/execute.hpp>

struct sqlite3;

/// Work that runs once, on SQLite.
namespace onceguard::sqlite {
inline namespace v1 {

/// Creates the tables of the records (`onceguard_…`, three tables with their indexes) in the main
/// database of `database`. execute calls this itself if the tables are missing. Inside an open
/// transaction, the tables are created in that transaction; otherwise in a transaction of their
/// own.
[[nodiscard]] result<void> prepare(sqlite3* database);

/// Runs `work` once for this request, and returns its answer for every repeat while the answer is
/// kept.
///
/// Without an open transaction on `database`, the call begins one (IMMEDIATE), claims the key in
/// it, runs `work`, stores the answer and commits with synchronous = FULL: one COMMIT in all.
/// Inside an open transaction, the call uses a savepoint: the caller commits, and sends the answer
/// after the commit. A crash at any instruction, or an exception of `work`, leaves no changes, and
/// a repeat runs anew.
///
/// @return The verdict, by `kind`: `run` (the work ran now; `answer` is its answer), `replay`
///   (`answer` is the stored answer), `busy` (another connection is writing to this database, or
///   has this key), `mismatch` (the key was used with another fingerprint), or `unknown` (begun by
///   execute_steps and not finished). In all cases but `run`, `work` did not run and nothing was
///   written.
/// Errors; unless noted otherwise, nothing was done (`effect::none`):
///   errc::write_conflict: the caller's transaction can't begin to write, because another
///   connection has written since the transaction began (SQLITE_BUSY_SNAPSHOT); or readers blocked
///   the commit for longer than the policy waits. Run the transaction again.
///   errc::store_full: the disk is full. errc::store_unreachable: input or output failed; with
///   effect::unknown, during COMMIT: reopen the database and repeat the call to learn the outcome.
///   errc::conflict: a deferred constraint refused the commit; with effect::unknown: the
///   transaction was ended while `work` ran (by `work`, or by SQLite on an error that `work` hid).
///   errc::record_unreadable: the record of this key is damaged or was written by a newer version.
///   errc::invalid_argument: the request or the tables are not as required.
///
/// If another connection is writing, the connection's busy handler waits first, and then the call
/// waits as the policy says. Replays only read: in WAL mode, writers do not block them. Each run
/// removes a few expired records.
///
/// Thread-safety: as for the connection, one thread at a time. Blocks. `work` uses the same
/// connection, leaves the transaction open, and may call execute for another key.
[[nodiscard]] result<verdict> execute(sqlite3* database, const request& request,
                                      const execute_policy& policy, const effect_work& work);
/// The same with the default policy.
[[nodiscard]] result<verdict> execute(sqlite3* database, const request& request,
                                      const effect_work& work);

/// The same in several transactions, for work that calls other services in between. Each step
/// commits with the mark that the step is done. After a crash, the next call continues after the
/// last completed step: at once if the previous attempt ended with an exception or the machine has
/// booted since, otherwise when its lease is over. A superseded attempt can't commit any more
/// steps. The code between two steps may run again in each attempt: pass `flow.key_for(…)` as the
/// idempotency key of its calls. `database` must not be in a transaction.
/// Errors as above, and errc::write_conflict with effect::unknown: superseded by another attempt.
/// Repeat the call: it continues, or returns the outcome.
[[nodiscard]] result<verdict> execute_steps(sqlite3* database, const request& request,
                                            const execute_policy& policy, const steps_work& work);
/// The same with the default policy.
[[nodiscard]] result<verdict> execute_steps(sqlite3* database, const request& request,
                                            const steps_work& work);

/// Whether `database` is in a transaction, where execute uses a savepoint and the caller commits.
[[nodiscard]] bool has_open_transaction(sqlite3* database) noexcept;

/// Removes up to `most` records that have outlived their retention. Returns how many were removed.
[[nodiscard]] result<std::size_t> sweep(sqlite3* database, std::size_t most);

}  // namespace v1
}  // namespace onceguard::sqlite
