// The schema `onceguard`: its migrations, which are a part of the program, and how a database is
// brought to this version's schema.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::postgres {

/// The last migration that this version knows. A database may have more migrations, as long as its
/// `minimum_version` is not above this number: migrations only add.
inline constexpr int schema_version = 1;

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

struct migration_params {
  /// From now on only versions that know all migrations may use the schema.
  bool finish = false;
};

struct migrated {
  int from = 0;            ///< 0: there was no schema
  int to = 0;              ///< above schema_version: a newer version's schema that this one may use
  bool functions = false;  ///< they were not those of this version
};

/// Migrates in one transaction of `run`'s connection, which must not be in a transaction.
/// Migrations of one database wait for one another. errc::conflict: the schema is that of a newer
/// version and this version may not use it. errc::store_unreachable: a
/// permission is missing; the error says how to grant it. A failure changes nothing.
[[nodiscard]] result<migrated> migrate(const sql_runner& run, const migration_params& params);

/// The statements that migrate() runs for a new schema, as a script for psql.
[[nodiscard]] std::string migration_script(const migration_params& params);

}  // namespace onceguard::postgres
