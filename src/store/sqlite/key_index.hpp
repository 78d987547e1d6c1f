// The index of records by their key: made and dropped by an operator, as it costs each claim and
// each settle. Its expression has functions of SQLite alone, so that every program that may write
// the file keeps it right.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

[[nodiscard]] bool has_key_index(connection& database);

/// A query of the rows behind the id ?1 that have the indexed_key ?2 in the index, or none at all,
/// in the order of their ids. Columns: id, state, digest, boot, record.
[[nodiscard]] std::string rows_by_key();

/// Makes the index, or drops it; nothing if that was done before. Holds the file's write lock while
/// it reads all records. errc::store_unreachable: also where the file is missing, or where another
/// process writes for longer than the timeout.
[[nodiscard]] result<void> index_keys(const sqlite_params& params, bool drop);

}  // namespace onceguard::sqlite
