// One open store file: its connection, the clocks by which its records count, and the
// transactions on it. Used by one thread at a time.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/sqlite/wal_vfs.hpp"

namespace onceguard::sqlite {

enum class session_use : std::uint8_t { write, read };

class session {
 public:
  /// Opens the file, or makes it; brings it to this version's schema, for which alone it writes
  /// and needs the lock. Blocks, up to `params.timeout` for other processes. `params` must outlive
  /// the session.
  [[nodiscard]] static result<std::unique_ptr<session>> open(const sqlite_params& params,
                                                             session_use use);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  [[nodiscard]] connection& on() noexcept { return on_; }
  [[nodiscard]] metadata_table& metadata() noexcept { return *metadata_; }
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  /// Which file it is.
  [[nodiscard]] const file_mark& file() const noexcept { return file_; }

  /// False: the file was deleted, or another one put into its place or written over it. To be
  /// closed then, without a touch on whatever lies there now.
  [[nodiscard]] bool still_there() const noexcept;

  /// This memory has lost a part of what it was: it gets another identity, by which every process
  /// that saw it before notices, however much was granted since.
  void begin_another_memory();

  /// Begins to write; false: another process does.
  [[nodiscard]] bool try_begin();
  void commit() { commit_.run(); }
  bool roll_back() noexcept;

  /// Has the log grown so long that it is to be moved into the file?
  [[nodiscard]] bool log_is_long() const noexcept { return log_pages_ >= log_bound_ + left_; }
  /// Moves the log into the file as far as no reader is in the way. Others may write meanwhile;
  /// one process at a time moves, and where another does, or all is moved, nothing is done.
  void move_log();
  /// After SQLITE_FULL: what is in the log goes into the file, if need be with the reserve.
  /// False: not all of it found room there.
  bool make_room();
  /// Flushes the file. A move does so only where it has moved all and nobody wrote meanwhile.
  void flush_file();

 private:
  session(const sqlite_params& params, std::string path);
  [[nodiscard]] std::optional<error> enter();
  [[nodiscard]] std::optional<error> check_file();
  void set_up(session_use use);
  void began();
  [[nodiscard]] bool log_is_ours();
  void log_has(int pages);
  void bound_log();
  void limit_log();
  void move_in_turn();
  void say_not_moved(const std::string& why) const;
  void configure();
  void begin_within_timeout();
  void keep_reserve();

  const sqlite_params& params_;
  std::string path_;
  lock_file lock_;
  wal_vfs files_;
  connection on_;
  statement begin_, commit_;
  std::optional<metadata_table> metadata_;  // once its tables are there
  std::string identity_;
  file_mark file_, log_;
  bool log_is_foreign_ = false;
  int log_pages_ = 0;
  int log_bound_ = 0;     // in pages; by the room on the volume
  int log_limit_ = 0;     // as SQLite was told of it
  int left_ = 0;          // the length at which it could not be moved whole
  int time_of_look_ = 0;  // at this length the room is looked at again
};

/// Makes an error of a failure; `doing` and the path tell a person where.
[[nodiscard]] error to_error(const failure& failed, const std::string& path, effect on_store);

/// One step of waiting for another process's lock: short, as SQLite's own would be up to 100 ms.
void wait_one_step();

}  // namespace onceguard::sqlite
