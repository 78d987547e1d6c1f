// What a database keeps beside its records: the clocks by which they count, and the counters.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"
#include "store/sqlite/connection.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::sqlite {

/// The one row of table meta.
struct meta {
  std::string identity;
  token last_token = 0;
  std::uint64_t granted = 0;    ///< leases so far: the store's generation
  std::uint64_t forgotten = 0;  ///< completed records that operators released
  std::int64_t last_wall = 0;   ///< the time of retention when it was last entered
};

/// The clocks during one transaction. Leases of records with another `boot` are over.
struct moment {
  instant now;
  std::int64_t boot = 0;
  std::int64_t wall_ahead = 0;  ///< of the time of retention, by which a record's `*_wall` are
};

/// On tables that are there. `on` and `clock` must outlive it. Failures of SQLite are thrown.
class metadata_table {
 public:
  /// `prefix` begins the names of its tables; `place` names the database in the log.
  metadata_table(connection& connection, const base::clock& clock, std::string_view prefix,
                 std::string location);

  [[nodiscard]] meta read_meta();
  void write_meta(const meta& now);
  /// A transaction has begun, with which SQLite may begin its log anew: the next row of meta names
  /// the file on which it begins. Never in somebody else's database.
  void begins_log(bool does) noexcept { begins_log_ = does; }
  /// What was written is not: the boot is looked up, and entered, once more.
  void rolled_back() noexcept { boot_id_.clear(); }
  /// How many rows were ever changed on this connection, also by what was rolled back.
  [[nodiscard]] std::int64_t changes() const noexcept { return sqlite3_total_changes64(on_.get()); }

  /// Within a transaction that writes: what the guard of the wall clock learns is kept, and a new
  /// boot of the machine is entered.
  [[nodiscard]] moment update_clocks();
  /// Within one that only reads.
  [[nodiscard]] moment read_clocks();

 private:
  void enter_boot();
  void keep_time(std::int64_t now);
  [[nodiscard]] moment moment_of(const instant& now, std::int64_t boot) const;
  [[nodiscard]] bool load_boot();
  void store_boot();

  connection& on_;
  const base::clock& clock_;
  const std::string prefix_;
  const std::string location_;
  statement read_meta_, write_meta_, keep_time_, load_boot_, store_boot_;
  bool begins_log_ = false;
  std::string boot_id_;
  std::int64_t boot_ = 0;  // its number in table boots; 0: not in there
  wall_guard guard_;
  wall_memory kept_;            // what the table says of it
  std::int64_t kept_time_ = 0;  // and of the time of retention
};

}  // namespace onceguard::sqlite
