#include "store/sqlite/checkpoint.hpp"

#include <chrono>

namespace onceguard::sqlite {

checkpoint_outcome run_checkpoint(connection& connection) {
  const auto log = position_of(connection);
  if (!log) throw failure(SQLITE_IOERR, "the index of the write-ahead log can't be read");
  const auto before = moved_frames(connection);
  int in_log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection.get(), "main", SQLITE_CHECKPOINT_PASSIVE,
                                             &in_log, &moved);
  if (code == SQLITE_BUSY) return {};
  if (code != SQLITE_OK) throw failure(code, sqlite3_errmsg(connection.get()));
  checkpoint_outcome out{moved == in_log, std::nullopt};
  const auto after = moved_frames(connection);
  if (after <= before || all_moved(connection)) return out;
  out.unflushed = unflushed_frames{*log, before, after};
  count_as_moved(connection, *log, after, before);
  return out;
}

void flush_file(connection& connection) {
  sqlite3_file* file = nullptr;
  const int found =
      sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK || file->pMethods == nullptr) throw failure(found, "no such file");
  const int flushed = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  if (flushed != SQLITE_OK) throw failure(flushed, "the file could not be flushed");
}

void count_flushed(connection& connection, lock_file& lock, const unflushed_frames& flushed,
                   milliseconds turn_within) {
  for (auto steps = std::chrono::microseconds(turn_within) / lock_step;; --steps) {
    {
      const checkpoint_turn turn(lock);
      if (turn.has_turn()) {
        return count_as_moved(connection, flushed.log, flushed.before, flushed.after);
      }
    }
    if (steps <= 0) return;
    wait_one_step();
  }
}

}  // namespace onceguard::sqlite
