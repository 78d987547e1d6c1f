// The first answer from a row of PostgreSQL, without a record of Onceguard's: no schema of it is
// needed. On a libpq connection, in the caller's transaction or outside of one.
//
//   const auto order = onceguard::postgres::insert_once(
//       connection,
//       "INSERT INTO orders (reference, cents) VALUES ($1, $2)"
//       " ON CONFLICT ON CONSTRAINT orders_reference_key DO NOTHING RETURNING id, cents",
//       "SELECT id, cents FROM orders WHERE reference = $1", {"A-17", "4200"});
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/first_row.hpp>

struct pg_conn;    // PGconn in libpq-fe.h
struct pg_result;  // PGresult in libpq-fe.h

namespace onceguard::postgres {
inline namespace v1 {

/// Inserts a row, or finds the one that was inserted first, in one statement.
///
/// @param connection The caller's, idle or in a transaction.
/// @param insert "INSERT … ON CONFLICT … DO NOTHING RETURNING …", with the constraint that a repeat
///   violates as the target of the conflict. Without a target, a row that is refused for another
///   constraint would be taken for a repeat.
/// @param find "SELECT …": the row of that constraint, with the same columns.
/// @param parameters Of both texts together.
/// @return The row. Whether it is of an equal request is for the caller to see: by its columns.
///
/// At READ COMMITTED, DO NOTHING waits for a transaction that has inserted the same row and is not
/// over, and then gives no row; nor does a SELECT in the same statement, which began before that
/// row was committed. So the statement is sent again: two round trips in that case, else one.
///
/// Throws statement_failed (postgres.hpp): 23505 for every other constraint, 40001 at REPEATABLE
/// READ and SERIALIZABLE where another transaction was faster, and P0002 if neither text gives a
/// row in 8 attempts: `find` then looks for something else than the constraint. Throws
/// std::invalid_argument for an `insert` that does not say DO NOTHING in its ON CONFLICT: after DO
/// UPDATE a repeat would get its row as if it had been made just now.
///
/// Thread-safety: as for the connection, one thread at a time. Blocks.
[[nodiscard]] first_row insert_once(pg_conn* connection, std::string_view insert,
                                    std::string_view find,
                                    const std::vector<sql_value>& parameters);

/// The statement of insert_once, for other client libraries: its first column says whether the row
/// was made. A made row counts if there are two. Without a row, send it again.
[[nodiscard]] std::string insert_once_text(std::string_view insert, std::string_view find);

/// Makes a change that a state allows, or finds what is there instead: what the first one made, or
/// a state that does not allow it.
///
/// @param connection The caller's, idle or in a transaction.
/// @param change "UPDATE … WHERE id = … AND status = 'authorized' RETURNING …".
/// @param find "SELECT … WHERE id = …", with the same columns.
/// @return None: there is no such row.
///
/// These are two statements, because one is not enough: at READ COMMITTED the UPDATE waits for a
/// twin, and does nothing; a SELECT in the same statement still sees the state before the twin.
/// Throws statement_failed. Thread-safety: as for the connection. Blocks.
[[nodiscard]] std::optional<first_row> change_once(pg_conn* connection, const sql_statement& change,
                                                   const sql_statement& find);

/// The name of the unique constraint (or unique index) that refused a row: SQLSTATE 23505. None: it
/// is another result. Inside a transaction, such a failure ends the transaction, so that only a
/// savepoint before it allows to look for the first row; insert_once needs none.
[[nodiscard]] std::optional<std::string> duplicate_key(const pg_result* result);

}  // namespace v1
}  // namespace onceguard::postgres
