// The write-ahead log of an open store file: how long it may grow, and its checkpoints.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "store/sqlite/checkpoint.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Used by one thread at a time. Failures of SQLite are thrown, where nothing else is said.
class write_ahead_log {
 public:
  /// All must outlive the log. `is_ours` says whether the log is that of the file: nothing else is
  /// moved into the file. It is asked under the turn.
  write_ahead_log(const sqlite_params& params, const std::string& path, connection& connection,
                  lock_file& lock, std::function<bool()> is_ours)
      : params_(params),
        path_(path),
        connection_(connection),
        lock_(lock),
        is_ours_(std::move(is_ours)) {}

  /// From now on the connection notes how long the log is.
  void begin();
  /// Tells SQLite the size that a log keeps when it restarts. Before a transaction, as no statement
  /// may run when a commit is noted.
  void keep_limit();
  /// Reserves blocks that a process without room can free, so that a checkpoint has enough.
  void keep_reserve();

  /// Is the log long enough for a checkpoint?
  [[nodiscard]] bool is_long() const noexcept { return pages_ >= bound_ + left_; }
  /// Runs a checkpoint, as far as no reader is in the way, and flushes the file. Other processes
  /// may write meanwhile. One process at a time runs a checkpoint: does nothing if another process
  /// does, or if all of the write-ahead log is in the file already. What was copied in part counts
  /// once this one has the turn again, `turn_within` after the flush at most. Failures are only
  /// logged.
  void checkpoint(milliseconds turn_within = {});
  /// After SQLITE_FULL: runs a checkpoint, and frees the reserve for it if necessary. False: the
  /// file had no room for all of the write-ahead log.
  bool make_room();

 private:
  void note_length(int pages);
  void set_bound();
  [[nodiscard]] std::optional<unflushed_frames> checkpoint_in_turn();

  const sqlite_params& params_;
  const std::string& path_;
  connection& connection_;
  lock_file& lock_;
  std::function<bool()> is_ours_;
  int pages_ = 0;
  int bound_ = 0;       // in pages; depends on the room on the volume
  int limit_ = 0;       // the bound that SQLite's limit was last set from
  int left_ = 0;        // the log's length after an incomplete checkpoint
  int next_check_ = 0;  // the log's length at which the room is checked again
};

}  // namespace onceguard::sqlite
