// Moves the write-ahead log into the file. Only what is on the disk counts as moved.
#pragma once
#include <cstdint>
#include <optional>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/wal_index.hpp"

namespace onceguard::sqlite {

/// Frames that a checkpoint has copied into the file, and nobody has flushed yet: those behind
/// `before`, to `after`. They do not count as moved.
struct unflushed_frames {
  log_position log;
  std::uint32_t before = 0, after = 0;
};

struct checkpoint_outcome {
  bool complete = false;  ///< all that the log had as it began
  std::optional<unflushed_frames> unflushed;
};

/// Runs a checkpoint, as far as no reader is in the way. Others may read and write meanwhile. For
/// the holder of the turn; something must be left to move. Failures are thrown, but for a log that
/// another program moves.
///
/// SQLite flushes the file only if it copied all and nobody wrote meanwhile, and yet counts what it
/// copied in part. A flush that fails loses pages for ever, as Linux takes them for written, and
/// the next flush succeeds: a log that restarts then has the only copy. So the count goes back,
/// whether or not this process, or another one, ever learns of a flush that failed.
[[nodiscard]] checkpoint_outcome run_checkpoint(connection& connection);

/// Flushes the file through SQLite's own descriptor, which has noticed each failed write of this
/// connection: to open and close the file once more would drop SQLite's locks. Failures are thrown.
void flush_file(connection& connection);

/// After the flush: waits for the turn, for so long at most. Whoever has the turn until then copies
/// these frames again.
void count_flushed(connection& connection, lock_file& lock, const unflushed_frames& flushed,
                   milliseconds turn_within);

}  // namespace onceguard::sqlite
