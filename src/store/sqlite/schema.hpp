// The tables of a store, and how a file of an older version becomes one of this version.
#pragma once
#include <string>
#include <string_view>

#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {

/// In the file's header ("Once"): marks the database as ours.
inline constexpr std::int64_t application_id = 0x4f6e6365;
/// Of every store's file, in bytes. What reads the log by itself, and what bounds the log by the
/// room of the volume, counts on it.
inline constexpr std::int64_t page_size = 4'096;
/// The schema that this version writes. Migrations only add.
inline constexpr std::int64_t schema_version = 4;

/// Added to the expiry of an unsettled record in its column, so that the index has all unsettled
/// records together, before the others.
inline constexpr std::int64_t expiry_of_unsettled = -(std::int64_t{1} << 62);

enum class ownership { fresh, ours, foreign, newer };

/// Tells whose database the file is. Writes nothing.
[[nodiscard]] ownership ownership_of(connection& connection);

/// Says so if the file has pages of another size than `page_size`; empty otherwise.
[[nodiscard]] std::string other_pages_of(connection& connection);

/// Migrates a fresh or older file to `schema_version`, within a transaction of the caller.
void migrate(connection& connection);
/// Gives the file a new identity and returns it, within a transaction of the caller.
[[nodiscard]] std::string renew_identity(connection& connection);

/// In a caller's database, the names of all our tables and indexes begin with this.
inline constexpr std::string_view caller_prefix = "onceguard_";
inline constexpr std::int64_t caller_version = 3;

/// The version of our tables in a caller's database. 0: none. Above `caller_version`: made by a
/// newer version.
[[nodiscard]] std::int64_t caller_tables_version(connection& connection);

/// Makes these tables, or updates those of an older version, within a transaction of the caller.
void make_caller_tables(connection& connection);

}  // namespace onceguard::sqlite
