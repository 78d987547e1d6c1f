// The metadata that a database keeps beside its records: clocks, counters, identity.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"
#include "store/sqlite/connection.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::sqlite {

/// The one row of the table `meta`.
struct meta {
  std::string identity;
  token last_token = 0;
  std::uint64_t granted = 0;    ///< leases granted so far: the store's generation
  std::uint64_t forgotten = 0;  ///< completed records that operators released
  std::int64_t last_wall = 0;   ///< the retention clock when it was last stored
};

/// The clocks during one transaction. Leases of records with another `boot` have ended.
struct moment {
  instant now;
  std::int64_t boot = 0;
  std::int64_t wall_ahead = 0;  ///< how far the wall clock is ahead of the retention clock, which a
                                ///< record's `*_wall` follow
};

/// The tables must exist. `connection` and `clock` must outlive the object. Failures of SQLite are
/// thrown.
class metadata_table {
 public:
  /// `prefix` begins the names of the tables; `location` names the database in the log.
  metadata_table(connection& connection, const base::clock& clock, std::string_view prefix,
                 std::string location);

  [[nodiscard]] meta read_meta();
  void write_meta(const meta& now);
  /// True: a transaction has begun with which SQLite may restart the write-ahead log. The next row
  /// of meta then names the file on which the log begins. Never used in a caller's database.
  void begins_log(bool does) noexcept { begins_log_ = does; }
  /// After a rollback: the boot is read, and stored, once more.
  void rolled_back() noexcept { boot_id_.clear(); }
  /// The number of rows ever changed on this connection, including changes that were rolled back.
  [[nodiscard]] std::int64_t changes() const noexcept {
    return sqlite3_total_changes64(connection_.get());
  }

  /// Within a transaction that writes: also stores what the guard of the wall clock learns, and a
  /// new boot of the machine.
  [[nodiscard]] moment update_clocks();
  /// Within a transaction that only reads.
  [[nodiscard]] moment read_clocks();

 private:
  void enter_boot();
  void keep_time(std::int64_t now);
  [[nodiscard]] moment moment_of(const instant& now, std::int64_t boot) const;
  [[nodiscard]] bool load_boot();
  void store_boot();

  connection& connection_;
  const base::clock& clock_;
  const std::string prefix_;
  const std::string location_;
  statement read_meta_, write_meta_, keep_time_, load_boot_, store_boot_;
  bool begins_log_ = false;
  std::string boot_id_;
  std::int64_t boot_ = 0;  // its id in the table boots; 0: not there
  wall_guard guard_;
  wall_memory kept_;            // as stored in the table
  std::int64_t kept_time_ = 0;  // the retention clock, as stored
};

}  // namespace onceguard::sqlite
