// The first answer from a row of SQLite, without a record of Onceguard's, on the caller's own
// connection, in its transaction or outside of one.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/first_row.hpp>

struct sqlite3;

namespace onceguard::sqlite {
inline namespace v1 {

/// A statement that failed.
class statement_failed : public std::runtime_error {
 public:
  /// `extended_code` is SQLite's; `text` is for people.
  statement_failed(int extended_code, const std::string& text)
      : std::runtime_error(text), extended_code_(extended_code) {}
  /// SQLite's extended result code: 2067 (SQLITE_CONSTRAINT_UNIQUE) …
  [[nodiscard]] int extended_code() const noexcept { return extended_code_; }

 private:
  int extended_code_;
};

/// Inserts a row, or finds the one that was inserted first.
///
/// @param database The caller's.
/// @param insert "INSERT … ON CONFLICT (…) DO NOTHING RETURNING …", with the columns of the
///   constraint that a repeat violates. Without them, a row that is refused for another constraint
///   would be taken for a repeat. SQLite 3.35 or newer.
/// @param find "SELECT …": the row of that constraint, with the same columns.
/// @param parameters Those named $1, $2 … in the texts, or ?1, ?2 …, each of which may leave some
///   out.
/// @return The row. Whether it is of an equal request is for the caller to see: by its columns.
///
/// Throws statement_failed: 1555 or 2067 for every other constraint, SQLITE_BUSY after the
/// connection's own busy timeout; SQLITE_MISUSE if neither text gives a row in 8 attempts: `find`
/// then looks for something else than the constraint. Throws std::invalid_argument for an `insert`
/// that does not say DO NOTHING in each ON CONFLICT, or says OR REPLACE: a repeat would get its row
/// as if it had been made just now; and for a parameter that neither text has.
///
/// A commit is on the disk as `PRAGMA synchronous` says: in WAL mode, FULL. Thread-safety: as for
/// the connection, one thread at a time. Blocks.
[[nodiscard]] first_row insert_once(sqlite3* database, std::string_view insert,
                                    std::string_view find,
                                    const std::vector<sql_value>& parameters);

/// Makes a change that a state allows, or finds what is there instead: what the first one made, or
/// a state that does not allow it.
///
/// @param database The caller's.
/// @param change "UPDATE … WHERE id = … AND status = 'authorized' RETURNING …".
/// @param find "SELECT … WHERE id = …", with the same columns.
/// @return None: there is no such row.
/// Throws statement_failed. Thread-safety: as for the connection. Blocks.
[[nodiscard]] std::optional<first_row> change_once(sqlite3* database, const sql_statement& change,
                                                   const sql_statement& find);

/// What was there twice, where the last statement on this connection failed for it: the columns as
/// "orders.reference, orders.customer", or "index 'name'". Extended codes 1555 (primary key), 2067
/// (unique) and 2579 (rowid). None: it was no such failure.
[[nodiscard]] std::optional<std::string> duplicate_key(sqlite3* database);

}  // namespace v1
}  // namespace onceguard::sqlite
