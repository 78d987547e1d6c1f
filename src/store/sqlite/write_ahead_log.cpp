#include "store/sqlite/write_ahead_log.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace onceguard::sqlite {

void write_ahead_log::begin() {
  set_bound();
  keep_limit();
  sqlite3_wal_hook(
      connection_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<write_ahead_log*>(self)->note_length(pages);
        return SQLITE_OK;
      },
      this);
}

void write_ahead_log::note_length(int pages) {
  if (pages < pages_ || pages >= next_check_) {
    constexpr int stretch = 256;
    set_bound();
    next_check_ = pages + stretch;
  }
  pages_ = pages;
}

/// Before a checkpoint, the write-ahead log takes up to an eighth of the room that it and the
/// volume have. Afterwards it keeps up to a quarter: writing to blocks that it has already is
/// cheaper.
void write_ahead_log::set_bound() {
  constexpr std::int64_t least = 64;
  const auto room = volume_of(path_).room + size_of(path_ + "-wal");
  const auto most = std::int64_t{params_.checkpoint_pages};
  bound_ = static_cast<int>(std::clamp(room / page_size / 8, std::min(least, most), most));
}

/// The size that a longer write-ahead log keeps when it restarts. Not set within the hook, where no
/// statement may run.
void write_ahead_log::keep_limit() {
  if (limit_ == bound_) return;
  limit_ = bound_;
  const auto bytes = 2 * page_size * limit_;
  connection_.run(("PRAGMA journal_size_limit = " + std::to_string(bytes)).c_str());
}

/// Reserves blocks that a process without room can free, so that a checkpoint has enough.
void write_ahead_log::keep_reserve() {
  constexpr std::int64_t most = 16 << 20;
  const auto about = volume_of(path_);
  const auto wanted = std::min(most, about.size / 64);
  if (wanted > 0 && wanted <= about.room / 4) lock_.keep_reserve(wanted);
}

bool write_ahead_log::make_room() {
  checkpoint();
  if (all_moved(connection_)) return true;
  if (!lock_.give_up_reserve()) return false;
  base::log(base::event::reserve_used, {{"store", params_.path}});
  checkpoint();
  return all_moved(connection_);
}

void write_ahead_log::checkpoint(milliseconds turn_within) {
  try {
    const auto copied = checkpoint_in_turn();
    if (!copied) return;
    flush_file(connection_);  // may take long: others may have the turn meanwhile
    count_flushed(connection_, lock_, *copied, turn_within);
  } catch (const failure& failed) {
    base::log(base::event::checkpoint_failed, {{"store", params_.path}, {"why", failed.what()}});
  }
}

/// Returns what is to be flushed before it counts as moved.
std::optional<unflushed_frames> write_ahead_log::checkpoint_in_turn() {
  const checkpoint_turn turn(lock_);
  if (!turn.has_turn()) return std::nullopt;
  if (all_moved(connection_)) {
    // Never copy again what is in the file already: SQLite before 3.51.3 may lose commits if the
    // write-ahead log restarts at that moment. An incomplete log can't restart before this
    // checkpoint ends, as no other process runs one.
    pages_ = left_ = 0;
    return std::nullopt;
  }
  if (!is_ours_()) return std::nullopt;
  // After a complete checkpoint, the next writer restarts the write-ahead log. After an incomplete
  // one, the log must first grow by the bound again, so that a slow reader does not burden every
  // batch.
  left_ = pages_;
  auto out = run_checkpoint(connection_);
  if (!out.complete) return std::move(out.unflushed);
  pages_ = left_ = 0;
  keep_reserve();
  return std::move(out.unflushed);
}

}  // namespace onceguard::sqlite
