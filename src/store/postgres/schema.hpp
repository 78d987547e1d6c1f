// The schema `onceguard`: its migrations, which the program carries, and how a database comes
// from an older version's, or none, to this one's.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::postgres {

/// The last migration that this version knows. A database may have more of them, as long as its
/// `minimum_version` is not above this: migrations only add.
inline constexpr int schema_version = 25;

struct migration {
  int number;             ///< 1, 2, … without gaps
  std::string_view name;  ///< "001_tables"
  std::string_view sql;   ///< statements, to be run in one transaction with its neighbours
};

/// All of them, the first one first.
[[nodiscard]] std::span<const migration> migrations() noexcept;

/// Runs statements, one after the other, and gives the first column of the last one's first row;
/// empty where it has none.
using sql_runner = std::function<result<std::string>(const std::string& sql)>;

struct migration_params {
  /// "plain", "hash:N", "time" or "time:1d"; empty: what is there, and plain for a new schema.
  std::string layout;
  /// From now on only versions that know all of this schema may use it.
  bool finish = false;
};

struct migrated {
  int from = 0;  ///< 0: there was no schema
  int to = 0;    ///< above schema_version: a newer Onceguard was here, and this one may go on
  std::string layout;
};

/// In one transaction of `run`'s connection, which must have none open; one at a time in a
/// database, whoever comes meanwhile waits. errc::conflict: the schema is a newer version's that
/// this one may not use, or has another layout. errc::store_unreachable: a right is missing; the
/// error says what gives it. After a failure nothing was changed.
[[nodiscard]] result<migrated> migrate(const sql_runner& run, const migration_params& params);

inline constexpr std::string_view layout_names =
    "plain, time, time:1d (from 1 to 9999 m, h or d) or hash:N (from 2 to 1024)";
/// Is it a layout's name? The database has the same bounds for its number.
[[nodiscard]] bool is_layout(std::string_view text) noexcept;

/// What `migrate` runs for a database that is at `from`, as a script for psql.
[[nodiscard]] std::string migration_script(const migration_params& params, int version = 0);

}  // namespace onceguard::postgres
