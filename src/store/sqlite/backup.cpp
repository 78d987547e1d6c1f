#include "store/sqlite/backup.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "base/unique_handle.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/wal_reader.hpp"

namespace onceguard::sqlite {
namespace {

error from_system(const std::string& path) {
  return error(errc::store_unreachable, path + ": " + std::strerror(errno));
}

/// A temporary file, deleted by the destructor. To keep the content, link or rename the file.
class part_file {
 public:
  explicit part_file(std::string path) : path_(std::move(path)) {}
  ~part_file() {
    if (file_ < 0) return;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
    ::close(file_);
  }
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;

  /// Creates the file before it has content, with mode 0600, so that only its owner can read it.
  /// False: not possible (errno), or another process writes a file of that name (EWOULDBLOCK). The
  /// file of a process that was killed is used again.
  [[nodiscard]] bool make() {
    for (;;) {
      const int made = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (made < 0) return false;
      struct stat about {};
      struct stat named {};
      const bool mine = ::flock(made, LOCK_EX | LOCK_NB) == 0 && ::fstat(made, &about) == 0;
      // The process that had the name until now may have removed it.
      const bool gone =
          mine && (::stat(path_.c_str(), &named) != 0 || named.st_ino != about.st_ino);
      if (mine && !gone && ::fchmod(made, 0600) == 0 && ::ftruncate(made, 0) == 0) {
        file_ = made;
        return true;
      }
      const int why = errno;
      ::close(made);
      errno = why;
      if (!gone) return false;
    }
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
  int file_ = -1;
};

error not_made(const part_file& part) {
  if (errno != EWOULDBLOCK) return from_system(part.path());
  return error(errc::conflict, part.path() + ": another process writes it just now");
}

bool flush(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return false;
  const bool done = ::fsync(opened) == 0;
  return ::close(opened) == 0 && done;
}

bool flush_folder_of(const std::string& path) {
  return flush(std::filesystem::absolute(path).parent_path().string());
}

/// Copies one snapshot of the database into the single file `path`, without a write-ahead log.
/// Throws `failure`.
void copy(connection& database, const std::string& path) {
  connection made(path, nullptr);
  base::unique_handle<sqlite3_backup, sqlite3_backup_finish> act(
      sqlite3_backup_init(made.get(), "main", database.get(), "main"));
  if (!act) throw failure(sqlite3_extended_errcode(made.get()), sqlite3_errmsg(made.get()));
  // All pages in one step: between two steps others may write, and the copy begins anew each time.
  const int code = sqlite3_backup_step(act.get(), -1);
  if (code != SQLITE_DONE) throw failure(code, sqlite3_errstr(code));
  act.reset();
  made.run("PRAGMA journal_mode = DELETE");
}

/// Describes what is wrong with a copy; empty if nothing is wrong.
std::string fault_of(connection& connection) {
  switch (ownership_of(connection)) {
    case ownership::fresh:
      return "is empty";
    case ownership::foreign:
      return "is a SQLite database of another program";
    case ownership::newer:
      return "was written by a newer version of onceguard";
    case ownership::ours:
      break;
  }
  if (auto pages = other_pages_of(connection); !pages.empty()) return pages;
  const auto found = connection.text("PRAGMA integrity_check(1)");
  return found == "ok" ? std::string() : "is damaged: " + found;
}

/// A process that has a database in WAL mode open holds a lock on the database all the time, even
/// if that process does not use our lock file. No session may be open in this process: to close the
/// descriptor here drops all record locks that the process has on the file (POSIX, close()).
bool in_use(const std::string& path) {
  // SQLite's os.h: PENDING_BYTE. All its locks on a database lie in the 512 bytes from there.
  constexpr off_t sqlite_locks = 0x40000000;
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return errno != ENOENT;
  struct flock flock {};
  flock.l_type = F_WRLCK;
  flock.l_whence = SEEK_SET;
  flock.l_start = sqlite_locks;
  flock.l_len = 512;
  const bool answered = ::fcntl(opened, F_OFD_GETLK, &flock) == 0;
  ::close(opened);
  return !answered || flock.l_type != F_UNLCK;
}

/// Gives the copy a new identity, by which other processes see a store that has forgotten.
void make_another_store(connection& connection, const base::clock& clock) {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  const auto identity = base::to_hex(random);
  // Tokens given after the backup was made must not be given again: microseconds are ahead of them.
  auto put = connection.prepare("UPDATE meta SET identity = ?, token = max(token, ?)");
  put.bind(1, std::string_view(identity)).bind(2, clock.wall_ms() * 1'000).run();
}

/// Copies the backup `backup` into `file`, and leaves the backup as it is. Empty: success.
std::optional<error> copy_backup(const std::string& backup, part_file& file,
                                 const base::clock& clock) {
  if (::access(backup.c_str(), R_OK) != 0) {
    return error(errno == ENOENT ? errc::not_found : errc::invalid_argument,
                 backup + ": " + std::strerror(errno));
  }
  const auto wrong = [&](const std::string& description) {
    return error(errc::invalid_argument, backup + " " + description + "; nothing was changed");
  };
  try {
    std::error_code no_log;
    const bool has_log = std::filesystem::file_size(backup + "-wal", no_log) > 0 && !no_log;
    connection source(has_log ? backup : file_alone(backup), nullptr, open_as::reader);
    if (has_log && !log_belongs(source, backup, nullptr))
      return wrong("has a log that is not its own");
    if (ownership_of(source) != ownership::ours) return wrong(fault_of(source));
    if (!file.make()) return not_made(file);
    copy(source, file.path());
    connection made(file.path(), nullptr);
    if (const auto description = fault_of(made); !description.empty()) return wrong(description);
    make_another_store(made, clock);
    return std::nullopt;
  } catch (const failure& failed) {
    const bool damaged = failed.code() == SQLITE_NOTADB || failed.code() == SQLITE_CORRUPT;
    return damaged ? wrong(std::string("can't be read: ") + failed.what())
                   : to_error(failed, file.path(), effect::none);
  }
}

/// Gives the store's file and its write-ahead log a second name each. The caller then removes the
/// first names.
result<std::string> name_again(const std::string& path) {
  for (int number = 1;; ++number) {
    const auto former = path + ".replaced-" + std::to_string(number);
    bool named = false;
    for (const std::string suffix : {"", "-wal"}) {
      if (::link((path + suffix).c_str(), (former + suffix).c_str()) == 0) {
        named = true;
      } else if (errno == EEXIST && !named) {
        break;
      } else if (errno != ENOENT) {
        auto why = from_system(former + suffix);
        ::unlink(former.c_str());
        return why;
      } else if (suffix == "-wal") {
        return named ? former : std::string();
      }
    }
    if (named) return former;
  }
}

bool take_rights_of(const std::string& path, const std::string& target) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return errno == ENOENT;
  if (::chmod(target.c_str(), about.st_mode & 0777) != 0) return false;
  return ::geteuid() != 0 || ::chown(target.c_str(), about.st_uid, about.st_gid) == 0;
}

/// A process killed in between leaves the new file with the old write-ahead log. No session opens
/// such a pair.
result<std::string> replace_file(const part_file& made, const std::string& path) {
  if (!take_rights_of(path, made.path()) || !flush(made.path())) return from_system(made.path());
  auto former = name_again(path);
  if (!former) return former.error();
  if (::rename(made.path().c_str(), path.c_str()) != 0) return from_system(path);
  for (const char* suffix : {"-wal", "-shm"}) {
    const auto beside = path + suffix;
    if (::unlink(beside.c_str()) != 0 && errno != ENOENT) return from_system(beside);
  }
  if (!flush_folder_of(path)) return from_system(path);
  return former;
}

}  // namespace

result<void> back_up(const sqlite_params& sqlite, const std::string& target) {
  struct stat about {};
  const auto exists = [&] {
    return error(errc::conflict, target + ": there is such a file already");
  };
  if (::lstat(target.c_str(), &about) == 0) return exists();
  auto opened = session::open(sqlite, session_use::show, if_missing::fail);
  if (!opened) return opened.error();
  part_file part(target + ".onceguard-part");
  if (!part.make()) return not_made(part);
  try {
    copy((*opened)->on(), part.path());
    connection made(part.path(), nullptr);
    if (const auto value = fault_of(made); !value.empty()) {
      return error(errc::record_unreadable, "sqlite store " + sqlite.path + " " + value);
    }
  } catch (const failure& failed) {
    return to_error(failed, sqlite.path, effect::none);
  }
  if (!flush(part.path())) return from_system(part.path());
  // A link, not a rename: a file that got this name meanwhile is kept.
  if (::link(part.path().c_str(), target.c_str()) != 0) {
    return errno == EEXIST ? exists() : from_system(target);
  }
  if (!flush_folder_of(target)) return from_system(target);
  return {};
}

result<std::string> check_copy(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    return error(errno == ENOENT ? errc::not_found : errc::invalid_argument,
                 path + ": " + std::strerror(errno));
  }
  if (size_of(path + "-wal") > 0) {
    return error(errc::invalid_argument, path +
                                             " has a log beside it: it is a store in use, and "
                                             "no copy that `onceguard backup` wrote");
  }
  try {
    connection copy(file_alone(path), nullptr, open_as::reader);
    if (const auto fault = fault_of(copy); !fault.empty()) {
      return error(errc::invalid_argument, path + " " + fault);
    }
    return std::to_string(copy.integer("SELECT count(*) FROM records")) + " keys, whole";
  } catch (const failure& failed) {
    return error(errc::invalid_argument, path + " can't be read: " + failed.what());
  }
}

result<std::string> restore(const sqlite_params& sqlite, const std::string& source) {
  const auto path = check_location(sqlite.path);
  if (!path) return path.error();
  if (mark_of(source) == mark_of(*path) && mark_of(source) != file_mark{}) {
    return error(errc::invalid_argument, source + " is the store itself");
  }
  try {
    lock_file lock(*path);
    if (!lock.keep_all_out() || in_use(*path)) {
      return error(errc::conflict, "sqlite store " + *path +
                                       ": a process has it open. Stop every gateway on it, and "
                                       "whatever else uses it, and restore then");
    }
    part_file made(*path + ".restoring");
    if (auto why = copy_backup(source, made, *sqlite.clock)) return *why;
    return replace_file(made, *path);
  } catch (const failure& failed) {
    return to_error(failed, *path, effect::none);
  }
}

}  // namespace onceguard::sqlite
