// Exactly once inside a SQLite transaction: the record of the operation and what the operation
// writes commit together, in the caller's own database file, on the caller's own connection.
#pragma once
#include <cstddef>

#include <onceguard/execute.hpp>

struct sqlite3;

namespace onceguard::sqlite {

/// Makes the tables of the records (`onceguard_…`, three of them with their indexes) in the main
/// database of `on`. execute does so by itself when they are missing. Within an open transaction
/// it joins in; else it has its own.
[[nodiscard]] result<void> prepare(sqlite3* database);

/// Runs `work` once for this request, and gives its answer to every repeat while that is kept.
///
/// Without an open transaction on `on`, it begins one (IMMEDIATE), claims the key in it, runs
/// `work`, stores its answer and commits with synchronous = FULL: one COMMIT in all. Within an
/// open one it joins in (a savepoint): the caller commits, and sends the answer after that. A
/// crash at any instruction, or an exception of `work`, leaves nothing behind, and a repeat runs
/// anew.
///
/// @return What became of it, by `kind`: `run` (it ran now, and `answer` is its answer), `replay`
///   (`answer` is the stored one), `busy` (somebody writes to this database, or has this key),
///   `mismatch` (the key was used with another fingerprint), or `unknown` (begun by execute_steps
///   and not finished). In all but `run`, `work` did not run and nothing was written.
/// Errors, all of them with nothing done (`effect::none`) unless said otherwise:
///   errc::write_conflict: the caller's transaction can't become one that writes, as another
///     wrote since it began (SQLITE_BUSY_SNAPSHOT), or readers held the commit up for longer than
///     the policy waits: run it again.
///   errc::store_full: the disk is full. errc::store_unreachable: input or output failed; with
///     effect::unknown during COMMIT: open the database anew and call again, which tells.
///   errc::conflict: a deferred constraint refused the commit; with effect::unknown: the
///     transaction was ended while `work` ran (by it, or by SQLite on an error that it hid).
///   errc::record_unreadable: the record of this key is damaged or a newer version's.
///   errc::invalid_argument: the request, or the tables, are not what they should be.
///
/// A writer that is in the way is waited for by the connection's busy handler, and then as the
/// policy says. Replays only read: in WAL mode no writer holds them up. Each run removes a few
/// expired records.
///
/// Thread-safety: as the connection, one thread at a time. Blocks. `work` uses the same
/// connection, leaves the transaction open, and may call execute for another key.
[[nodiscard]] result<verdict> execute(sqlite3* database, const request& request,
                                      const execute_policy& policy, const effect_work& work);
[[nodiscard]] result<verdict> execute(sqlite3* database, const request& request,
                                      const effect_work& work);

/// The same in several transactions, for work that calls somebody else in between. Each step
/// commits with the mark that it is done; after a crash the next call goes on behind the last
/// one, at once if the attempt before ended with an exception or the machine has booted since,
/// else when its lease is over. An attempt that was overtaken can't commit a step any more. What
/// stands between two steps may run again in each attempt: give it `flow.key_for(…)` as its
/// idempotency key. Needs `on` outside of a transaction.
/// Errors as above, and errc::write_conflict with effect::unknown: overtaken by another attempt.
/// Call again: it goes on, or tells.
[[nodiscard]] result<verdict> execute_steps(sqlite3* database, const request& request,
                                            const execute_policy& policy, const steps_work& work);
[[nodiscard]] result<verdict> execute_steps(sqlite3* database, const request& request,
                                            const steps_work& work);

/// Removes up to `most` records that have outlived their retention; how many went.
[[nodiscard]] result<std::size_t> sweep(sqlite3* database, std::size_t most);

}  // namespace onceguard::sqlite
