// The tables, and how a file comes from an older version's to this one's.
#pragma once
#include <string_view>

#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {

/// In the file's header ("Once"): says whose database it is.
inline constexpr std::int64_t application_id = 0x4f6e6365;
/// What this version writes. Migrations only add.
inline constexpr std::int64_t schema_version = 3;

enum class ownership { fresh, ours, foreign, newer };

/// Whose file is it? Writes nothing.
[[nodiscard]] ownership whose(connection& connection);

/// Brings a fresh or older file to `schema_version`. Within a transaction of the caller.
void migrate(connection& connection);
/// Gives the file another identity, and tells it. Within a transaction of the caller.
[[nodiscard]] std::string renew_identity(connection& connection);

/// In the database of somebody else's: the names of all tables and indexes begin with this.
inline constexpr std::string_view caller_prefix = "onceguard_";
inline constexpr std::int64_t caller_version = 2;

/// What such a database has of them: 0 is nothing, above `own_version` a newer version's.
[[nodiscard]] std::int64_t caller_tables_version(connection& connection);

/// Makes them, or brings an older version's up to date. Within a transaction of the caller.
void make_caller_tables(connection& connection);

}  // namespace onceguard::sqlite
