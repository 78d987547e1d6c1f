#include "store/sqlite/session.hpp"

#include <chrono>
#include <sys/stat.h>
#include <thread>

#include "base/log.hpp"
#include "store/sqlite/log_tail.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/wal_index.hpp"
#include "store/sqlite/wal_reader.hpp"

namespace onceguard::sqlite {
namespace {

/// Calls `act` until it is not busy any more, for `timeout` at most. Counts the steps, so that no
/// clock is needed.
template <class Act>
void within(milliseconds timeout, Act act) {
  auto steps = std::chrono::duration_cast<std::chrono::microseconds>(timeout) / lock_step;
  for (;; --steps) {
    try {
      return act();
    } catch (const failure& failed) {
      if (failed.code() != SQLITE_BUSY || steps <= 0) throw;
    }
    wait_one_step();
  }
}

/// Without this, the last connection that closes runs a checkpoint.
void keep_log_at_close(connection& connection, bool does) noexcept {
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, does ? 1 : 0, nullptr);
}

}  // namespace

error to_error(const failure& failed, const std::string& path, effect on_store) {
  const auto detail = "sqlite store " + path + ": " + failed.what();
  switch (failed.code()) {
    case SQLITE_FULL:
      return error(errc::store_full, detail, on_store);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(errc::record_unreadable, detail, on_store);
    default:
      return error(errc::store_unreachable, detail, on_store);
  }
}

session::session(const sqlite_params& params, std::string path)
    : params_(params),
      path_(std::move(path)),
      lock_(path_),
      files_(params.vfs),
      wal_(params_, path_, connection_, lock_, [this] { return log_is_ours(); }) {}

session::~session() {
  // Of a file that was refused nothing is moved, and SQLite would never close the log's index.
  if (!is_ours_) return;
  try {
    struct stat log {};
    const bool is_short =
        ::stat((path_ + "-wal").c_str(), &log) == 0 && log.st_size < params_.keep_log_below;
    // What a checkpoint copies has to be durable in the log, or a power cut leaves half of it.
    const bool may_move = !is_short && still_there() && log_is_ours() && try_to_make_durable();
    if (!may_move) keep_log_at_close(connection_, true);
  } catch (const failure&) {
    keep_log_at_close(connection_, true);  // the next session that opens the file checks again
  }
  lock_.withdraw();  // before the connection closes: with the last one, the log's index ends
}

result<std::unique_ptr<session>> session::open(const sqlite_params& params, session_use use,
                                               if_missing missing) {
  auto path = check_location(params.path);
  if (!path) return path.error();
  if (params.clock->boot_id().empty()) {
    return refuse(*path, "the system does not tell its boot id, so leases could outlive a reboot");
  }
  try {
    std::unique_ptr<session> opened(new session(params, *path));
    if (auto why = opened->enter()) return *why;
    if (auto why = opened->check_file(missing)) return *why;
    opened->set_up(use);
    return opened;
  } catch (const failure& failed) {
    if (failed.code() == SQLITE_NOTADB) return refuse(*path, "is not a SQLite database");
    return to_error(failed, *path, effect::none);
  }
}

/// Registers this process among those that have the store open.
std::optional<error> session::enter() {
  auto found = lock_file::entry::closed_to_all;
  within(params_.timeout, [&] {
    found = lock_.enter(params_.clock->boot_id());
    if (found == lock_file::entry::closed_to_all) {
      throw failure(SQLITE_BUSY, "another process has the store for itself, to restore it");
    }
  });
  if (found == lock_file::entry::entered) return std::nullopt;
  return out_of_reach(
      path_,
      "another process that sees another boot id of the machine, or a boot clock that is shifted "
      "against this one's, has it open, so that each would take the other's leases for over. Give "
      "both the same /proc/sys/kernel/random/boot_id and /proc/self/timens_offsets, or each a "
      "store of its own, or PostgreSQL");
}

/// Checks that the file and the write-ahead log are ours, before anything is written, or copied out
/// of the log.
std::optional<error> session::check_file(if_missing missing) {
  const bool fresh = mark_of(path_) == file_mark{};
  // SQLite would delete the log of an empty file.
  if (size_of(path_) == 0 && size_of(path_ + "-wal") > 0) {
    return error(errc::store_lost, log_without_file(path_));
  }
  if (fresh && missing == if_missing::fail) {
    return error(errc::store_unreachable, "sqlite store " + path_ + ": there is no such file");
  }
  connection_ = connection(path_, files_.name(), fresh ? open_as::creator : open_as::writer);
  keep_log_at_close(connection_, true);  // until the owner is known
  // Answers may be confidential. SQLite gives the write-ahead log the same mode.
  if (fresh) ::chmod(path_.c_str(), S_IRUSR | S_IWUSR);
  file_ = mark_of(params_.path);
  if (const auto why = second_name_of(path_); !why.empty()) return refuse(path_, why);
  if (size_of(path_) == 0) {  // SQLite may be built with another size
    connection_.run(("PRAGMA page_size = " + std::to_string(page_size)).c_str());
  }
  bool damaged = false;
  bool ours = false;
  within(params_.timeout, [&] {
    const checkpoint_turn turn(lock_);
    if (!turn.has_turn()) throw failure(SQLITE_BUSY, "another process moves the log");
    ours = log_is_ours();
    damaged = other_pages_of(connection_).empty() && log_is_damaged();
  });
  if (damaged) return error(errc::store_lost, damaged_log(path_));
  if (!ours) return error(errc::store_lost, foreign_log(path_));
  if (auto why = check_pages()) return why;
  auto owner = ownership::fresh;
  within(params_.timeout, [&] { owner = ownership_of(connection_); });
  if (owner == ownership::foreign) return refuse(path_, "is a SQLite database of another program");
  if (owner == ownership::newer) {
    return refuse(path_, "was written by a newer version of onceguard (schema " +
                             connection_.text("PRAGMA user_version") + "; this version knows " +
                             std::to_string(schema_version) + ")");
  }
  keep_log_at_close(connection_, false);
  is_ours_ = true;
  return std::nullopt;
}

/// Once the log is known to be of this file: SQLite would copy another one into it while a person
/// does what the refusal says. Another program's file is refused for what it is.
std::optional<error> session::check_pages() {
  const auto why = other_pages_of(connection_);
  if (why.empty()) return std::nullopt;
  auto owner = ownership::fresh;
  within(params_.timeout, [&] { owner = ownership_of(connection_); });
  if (owner == ownership::foreign) return std::nullopt;
  return refuse(path_, why);
}

bool session::log_is_ours() {
  log_is_foreign_ = !log_belongs(connection_, path_, params_.vfs);
  return !log_is_foreign_;
}

bool session::log_is_damaged() {
  // Where SQLite keeps no log, mapping its index would make an index that SQLite never closes.
  if (connection_.text("PRAGMA journal_mode") != "wal") return false;
  // In the log of a process that writes meanwhile, the end is still being written.
  const auto read = position_of(connection_);
  if (!read) throw failure(SQLITE_IOERR, "the index of the write-ahead log can't be read");
  return has_damaged_frames(path_ + "-wal", *read) && position_of(connection_) == read;
}

void session::set_up(session_use use) {
  configure();
  // Takes the write lock before anything is read: a decision on what another process changes
  // meanwhile could not be written (SQLITE_BUSY_SNAPSHOT), however long it waits.
  begin_ = connection_.prepare("BEGIN IMMEDIATE");
  commit_ = connection_.prepare("COMMIT");
  const bool fresh = connection_.integer("PRAGMA user_version") != schema_version;
  if (fresh || use != session_use::show) make_durable();
  if (fresh) {
    begin_within_timeout();
    migrate(connection_);
  }
  metadata_.emplace(connection_, *params_.clock, "", path_);
  if (fresh) {
    began();
    static_cast<void>(metadata_->update_clocks());  // stores the boot
    metadata_->write_meta(metadata_->read_meta());
    commit();
  }
  if (use == session_use::write) {
    wal_.keep_reserve();
  } else {
    connection_.run("PRAGMA query_only = ON");
  }
  identity_ = metadata_->read_meta().identity;
  log_ = mark_of(path_ + "-wal");
  index_ = mark_of(path_ + "-shm");
  if (!index_is(connection_, index_)) {
    throw failure(SQLITE_BUSY,
                  "the log's index (-shm) was removed or replaced, and this process "
                  "still uses the former one");
  }
}

/// Whoever opens a log that nobody has open takes its last transaction for committed. The process
/// that wrote it may have been killed before its flush, or its flush failed. So that transaction
/// goes to the disk before anything is answered from it, or written behind it: a log ends where it
/// is broken. Whoever comes later sees what was flushed before it became visible.
void session::make_durable() {
  within(params_.timeout, [this] {
    if (!try_to_make_durable()) throw failure(SQLITE_BUSY, "another process moves the log");
  });
}

bool session::try_to_make_durable() {
  if (durable_) return true;
  const checkpoint_turn turn(lock_);
  if (!turn.has_turn()) return false;
  const auto index = mark_of(path_ + "-shm").number;
  if (!lock_.is_declared_durable(index)) write_last_again(connection_, path_, lock_);
  lock_.declare_durable(index);
  durable_ = true;
  return true;
}

void session::configure() {
  if (sqlite3_db_readonly(connection_.get(), "main") == 1)
    throw failure(SQLITE_READONLY, "not writable");
  // FULL, as with WAL and NORMAL no commit is flushed: a power cut would undo granted leases. Set
  // before the first write, as the log's file layer depends on it.
  connection_.run("PRAGMA synchronous = FULL");
  within(params_.timeout, [this] {
    if (connection_.text("PRAGMA journal_mode = WAL") != "wal") {
      throw failure(SQLITE_CANTOPEN, "the write-ahead log can't be used here");
    }
  });
  // The checkpointer runs checkpoints beside the writer, not within a commit. Up to its limit the
  // write-ahead log keeps its blocks on the disk: a flush of new blocks would have to write their
  // locations as well.
  connection_.run(
      "PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA cache_size = -8192;"
      "PRAGMA temp_store = MEMORY;");
  if (params_.page_count_max > 0) {
    connection_.run(("PRAGMA max_page_count = " + std::to_string(params_.page_count_max)).c_str());
  }
  wal_.begin();
}

bool session::roll_back() noexcept {
  if (metadata_) metadata_->rolled_back();
  return connection_.roll_back();
}

void session::begin_another_memory() {
  begin_within_timeout();
  began();
  auto now = metadata_->read_meta();
  if (now.identity == identity_) {
    ++now.last_token;
    metadata_->write_meta(now);
    identity_ = renew_identity(connection_);
  } else {
    identity_ = now.identity;  // another process was first
  }
  commit();
}

void session::begin_within_timeout() {
  within(params_.timeout, [this] { begin_.run(); });
}

/// The first write after all of the write-ahead log is in the file restarts the log, unless a
/// reader still uses it. No other process can restart the log until this transaction ends. A
/// transaction that took a log for its own beginning would make it look like another file's.
void session::began() {
  const auto moved = all_moved_if_known(connection_);
  if (!moved) throw failure(SQLITE_IOERR, "the index of the write-ahead log can't be read");
  metadata_->begins_log(*moved);
}

bool session::try_begin() {
  wal_.keep_limit();
  try {
    begin_.run();
    began();
    return true;
  } catch (const failure& failed) {
    if (failed.code() == SQLITE_BUSY) return false;
    throw;
  }
}

bool session::still_there() const noexcept {
  return !log_is_foreign_ && mark_of(params_.path) == file_ && mark_of(path_ + "-wal") == log_ &&
         mark_of(path_ + "-shm") == index_;
}

}  // namespace onceguard::sqlite
