#include "store/sqlite/session.hpp"

#include <algorithm>
#include <chrono>
#include <sys/stat.h>
#include <thread>

#include "base/log.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

constexpr std::chrono::microseconds lock_step{500};

/// Runs `act` until it is not busy any more, for `timeout` at most (counted by the steps, so that
/// no clock is needed).
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

}  // namespace

void wait_one_step() { std::this_thread::sleep_for(lock_step); }

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
      files_(params.vfs),
      on_(path_, files_.name()),
      move_log_at_(params.checkpoint_pages) {}

session::~session() {
  if (on_.get() != nullptr && !in_place()) {
    // The log's name may belong to another file's log by now.
    sqlite3_db_config(on_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
}

result<std::unique_ptr<session>> session::open(const sqlite_params& params, session_use use) {
  auto path = check_place(params.path);
  if (!path) return path.error();
  if (params.clock->boot_id().empty()) {
    return refuse(*path, "the system does not tell its boot id, so leases could outlive a reboot");
  }
  const bool fresh = mark_of(*path) == file_mark{};
  try {
    std::unique_ptr<session> opened(new session(params, *path));
    // Answers may be confidential; the log gets the same mode from SQLite.
    if (fresh) ::chmod(path->c_str(), S_IRUSR | S_IWUSR);
    opened->file_ = mark_of(*path);
    auto owner = ownership::fresh;
    within(params.timeout, [&] { owner = whose(opened->on_); });
    switch (owner) {
      case ownership::foreign:
        return refuse(*path, "is a SQLite database of another program");
      case ownership::newer:
        return refuse(*path, "was written by a newer version of onceguard (schema " +
                                 opened->on_.text("PRAGMA user_version") + "; this version knows " +
                                 std::to_string(schema_version) + ")");
      case ownership::fresh:
      case ownership::ours:
        break;
    }
    opened->set_up(use);
    return opened;
  } catch (const failure& failed) {
    if (failed.code() == SQLITE_NOTADB) return refuse(*path, "is not a SQLite database");
    return to_error(failed, *path, effect::none);
  }
}

void session::set_up(session_use use) {
  configure();
  begin_ = on_.prepare("BEGIN IMMEDIATE");
  commit_ = on_.prepare("COMMIT");
  const bool set_up_before = on_.integer("PRAGMA user_version") == schema_version;
  const bool writes = use == session_use::write || !set_up_before;
  if (writes) {
    begin_within_timeout();
    migrate(on_);
  }
  books_.emplace(on_, *params_.clock, "", path_);
  if (writes) {
    static_cast<void>(books_->look_at_clocks());  // the boot is entered
    raise_tokens();
    commit();
  }
  if (use == session_use::read) on_.run("PRAGMA query_only = ON");
  identity_ = books_->read_meta().identity;
  log_ = mark_of(path_ + "-wal");
}

void session::configure() {
  if (sqlite3_db_readonly(on_.get(), "main") == 1) throw failure(SQLITE_READONLY, "not writable");
  within(params_.timeout, [this] {
    if (on_.text("PRAGMA journal_mode = WAL") != "wal") {
      throw failure(SQLITE_CANTOPEN, "the write-ahead log can't be used here");
    }
  });
  // The log is moved into the file beside the writer (log_mover), not within a commit. Up to the
  // limit it keeps its blocks on the disk: to flush new ones, their places must be written as well.
  on_.run(
      "PRAGMA synchronous = FULL;"
      "PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA journal_size_limit = 268435456;"
      "PRAGMA cache_size = -8192;"
      "PRAGMA temp_store = MEMORY;");
  if (params_.page_count_max > 0) {
    on_.run(("PRAGMA max_page_count = " + std::to_string(params_.page_count_max)).c_str());
  }
  sqlite3_wal_hook(
      on_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<session*>(self)->log_pages_ = pages;
        return SQLITE_OK;
      },
      this);
}

void session::raise_tokens() {
  // Tokens grow also if the file is an older copy of itself, or a new one.
  auto found = books_->read_meta();
  found.last_token =
      std::max(found.last_token, static_cast<token>(params_.clock->wall_ms()) * 1'000);
  books_->write_meta(found);
}

void session::begin_another_memory() {
  begin_within_timeout();
  identity_ = renew_identity(on_);
  commit();
}

void session::begin_within_timeout() {
  within(params_.timeout, [this] { begin_.run(); });
}

bool session::try_begin() {
  try {
    begin_.run();
    return true;
  } catch (const failure& failed) {
    if (failed.code() == SQLITE_BUSY) return false;
    throw;
  }
}

bool session::in_place() const noexcept {
  return mark_of(path_) == file_ && mark_of(path_ + "-wal") == log_;
}

void session::move_log() {
  int in_log = 0;
  int moved = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(on_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  // Once all is moved, the next writer begins the log anew. Until then it is tried again after
  // each further stretch, so a slow reader does not make every batch pay for it.
  const bool done = code == SQLITE_OK && moved == in_log;
  move_log_at_ = params_.checkpoint_pages + (done ? 0 : log_pages_);
  if (done) log_pages_ = 0;
  if (code != SQLITE_OK && code != SQLITE_BUSY) {
    base::log(base::log_level::warning, "the log could not be moved into the file",
              {{"store", path_}, {"why", sqlite3_errmsg(on_.get())}});
  }
}

void session::flush_file() {
  // By SQLite's own descriptor: to open the file once more and close it would drop its locks.
  sqlite3_file* file = nullptr;
  const int found = sqlite3_file_control(on_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK || file->pMethods == nullptr) throw failure(found, "no such file");
  const int flushed = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  if (flushed != SQLITE_OK) throw failure(flushed, "the file could not be flushed");
}

}  // namespace onceguard::sqlite
