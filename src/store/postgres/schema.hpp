// The schema `onceguard`: its migrations, which are a part of the program, and how a database is
// brought to this version's schema.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "store/registry.hpp"

namespace onceguard::postgres {

using migrated = store_kind::migrated;

/// The last migration that this version knows. A database may have more migrations, as long as its
/// `minimum_version` is not above this number: migrations only add.
inline constexpr int schema_version = 1;

/// Of functions(): raised with each change of their text. An older version leaves newer ones as
/// they are.
inline constexpr int functions_version = 1;

struct migration {
  int number;             ///< 1, 2, … without gaps
  std::string_view name;  ///< "001_tables"
  std::string_view sql;   ///< statements, to be run in one transaction with its neighbours
};

/// All migrations in their order: tables and types.
[[nodiscard]] std::span<const migration> migrations() noexcept;
/// Functions, triggers, the view and the rights in their current text, applied as a whole behind
/// the migrations.
[[nodiscard]] std::span<const std::string_view> functions() noexcept;

/// Runs statements one after the other. Returns the first column of the first row of the last
/// result, or an empty string.
using sql_runner = std::function<result<std::string>(const std::string& sql)>;

/// Migrates in one transaction of `run`'s connection, which must not be in a transaction.
/// Migrations of one database wait for one another. errc::conflict: the schema is that of a newer
/// version and this version may not use it. errc::store_unreachable: a
/// permission is missing; the error says how to grant it. A failure changes nothing.
[[nodiscard]] result<migrated> migrate(const sql_runner& run, bool finish);

/// Connects to the database of `url`, and migrates it. Blocks; `timeout` bounds the connecting
/// only, as an index on a large table takes its time. Errors are those of `migrate`,
/// errc::invalid_argument (the URL) and errc::store_unreachable; none repeats the URL.
[[nodiscard]] result<migrated> migrate_database(const std::string& url, milliseconds timeout,
                                                bool finish);

/// Makes the index by key beside running gateways, or drops it; nothing if that was done before.
/// Blocks; `timeout` bounds the connecting only. Errors are those of `migrate_database`.
[[nodiscard]] result<void> index_keys(const std::string& url, milliseconds timeout, bool drop);

/// The statements that migrate() runs for a new schema, as a script for psql.
[[nodiscard]] std::string migration_script(bool finish);

}  // namespace onceguard::postgres
