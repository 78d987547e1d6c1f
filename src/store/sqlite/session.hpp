// One open store file: its connection, the clocks by which its records count, and the
// transactions on it. Used by one thread at a time.
#pragma once
#include <memory>
#include <string>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/place.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::sqlite {

/// The one row of table meta.
struct meta {
  std::string identity;
  token last_token = 0;
  std::uint64_t granted = 0;    ///< leases so far: the store's generation
  std::uint64_t forgotten = 0;  ///< completed records that operators released
  std::int64_t last_wall = 0;
};

/// The clocks during one transaction. Leases of records with another `boot` are over.
struct moment {
  instant now;
  std::int64_t boot = 0;
};

enum class session_use : std::uint8_t { write, read };

class session {
 public:
  /// Opens the file, or makes it; brings it to this version's schema, raises its token counter
  /// to the microseconds of the wall clock. Blocks, up to `params.timeout` for another process's
  /// lock, which one that reads needs only where there is something to set up. `params` must
  /// outlive the session.
  [[nodiscard]] static result<std::unique_ptr<session>> open(const sqlite_params& params,
                                                             session_use use);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  [[nodiscard]] connection& on() noexcept { return on_; }
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }

  /// False: the file was deleted, or another one put into its place. To be closed then, without
  /// a touch on whatever lies there now.
  [[nodiscard]] bool in_place() const noexcept;

  /// Begins to write; false: another process does.
  [[nodiscard]] bool try_begin();
  void commit() { commit_.run(); }
  bool roll_back() noexcept { return on_.roll_back(); }

  [[nodiscard]] meta read_meta();
  void write_meta(const meta& now);

  /// Within a transaction that writes: what the guard of the wall clock learns is kept.
  [[nodiscard]] moment look_at_clocks();
  /// Within one that only reads.
  [[nodiscard]] moment look_at_clocks_only();

  /// Moves the log into the file as far as no reader is in the way, once it is long enough.
  void checkpoint_if_due();

 private:
  session(const sqlite_params& params, std::string path);
  void set_up(session_use use);
  void configure();
  void begin_within_timeout();
  void raise_tokens();
  void enter_boot();
  [[nodiscard]] bool load_boot();
  void store_boot();

  const sqlite_params& params_;
  std::string path_;
  connection on_;
  statement begin_, commit_, read_meta_, write_meta_, load_boot_, store_boot_;
  std::string identity_;
  file_mark file_, log_;
  std::string boot_id_;
  std::int64_t boot_ = 0;  // its number in table boots; 0: not in there
  wall_guard guard_;
  wall_memory kept_;  // what the table says of it
  int log_pages_ = 0;
  int checkpoint_at_ = 0;
};

/// Makes an error of a failure; `doing` and the path tell a person where.
[[nodiscard]] error to_error(const failure& failed, const std::string& path, effect on_store);

/// One step of waiting for another process's lock: short, as SQLite's own would be up to 100 ms.
void wait_one_step();

}  // namespace onceguard::sqlite
