#include "store/sqlite/wal_vfs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

// The bytes that are collected at most. SQLite's layer for Unix takes 17 bits of a size: to that
// layer a larger write is an error that looks like a full disk.
constexpr std::size_t room = 0x1ffff;

// SQLite writes a frame as its header, and then its page.
constexpr std::size_t frame_head = 24;
constexpr std::uint32_t ahead = 16;  // pages

// Left on the volume for readers, which need the WAL index in shared memory.
constexpr sqlite3_int64 least_room = 65'536;

/// The write-ahead log. SQLite reserves the memory for this object, and right behind it that for
/// the file of the layer below.
class log_file : public sqlite3_file {
 public:
  log_file() noexcept : sqlite3_file{nullptr} {}

  [[nodiscard]] sqlite3_file* below() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
  [[nodiscard]] const sqlite3_io_methods& real() noexcept { return *below()->pMethods; }

  void opened_as(const char* path) {
    path_ = path;
    database_ = path_.substr(0, path_.rfind("-wal"));
  }

  int write(const void* memory, std::size_t size, sqlite3_int64 offset) noexcept {
    if (size == frame_head) {
      if (const int code = may_commit(static_cast<const unsigned char*>(memory));
          code != SQLITE_OK) {
        drop();
        return code;
      }
    }
    if (offset != begin_ + static_cast<sqlite3_int64>(kept_) || kept_ + size > room) {
      if (const int code = send(); code != SQLITE_OK) return code;
    }
    if (!bytes_) bytes_.reset(new (std::nothrow) unsigned char[room]);
    if (!bytes_ || size > room) return write_below(memory, size, offset);
    if (kept_ == 0) begin_ = offset;
    std::memcpy(bytes_.get() + kept_, memory, size);
    kept_ += size;
    return SQLITE_OK;
  }

  /// Writes the collected bytes. After a failure they are dropped: their transaction has failed.
  int send() noexcept {
    if (kept_ == 0) return SQLITE_OK;
    return write_below(bytes_.get(), std::exchange(kept_, 0), begin_);
  }

  /// For a transaction that was rolled back: another process may write its own frames there now.
  void drop() noexcept { kept_ = 0; }

  /// Only a transaction reads what it has written itself.
  int read(void* memory, int size, sqlite3_int64 offset) noexcept {
    if (offset + size > begin_ && offset < begin_ + static_cast<sqlite3_int64>(kept_)) {
      if (const int code = send(); code != SQLITE_OK) return code;
    }
    return real().xRead(below(), memory, size, offset);
  }

  void cut_to(sqlite3_int64 size) noexcept { size_ = std::min(size_, size); }

 private:
  int write_below(const void* memory, std::size_t size, sqlite3_int64 offset) noexcept {
    const auto end = offset + static_cast<sqlite3_int64>(size);
    if (const int code = may_reach(end); code != SQLITE_OK) return code;
    return real().xWrite(below(), memory, static_cast<int>(size), offset);
  }

  /// The log may grow only while the volume has as much room left as the log's pages may need in
  /// the file. A log that took the last room could never be copied into the file, nor restart.
  int may_reach(sqlite3_int64 end) noexcept {
    if (end <= size_) return SQLITE_OK;
    if (const int code = real().xFileSize(below(), &size_); code != SQLITE_OK) return code;
    if (end <= size_) return SQLITE_OK;  // another process made the log that long
    const auto left = volume_of(path_).room;
    if (left >= 0 && left < (end - size_) + end + least_room) return SQLITE_FULL;
    return SQLITE_OK;
  }

  /// The header of a commit's last frame holds the number of pages that the database has after the
  /// commit. There must be room for those that the file does not have yet, or this log could not be
  /// copied into the file. That holds also where the log overwrites an earlier one and needs no
  /// room.
  int may_commit(const unsigned char* head) noexcept {
    std::uint32_t pages = 0;
    for (int i = 4; i < 8; ++i) pages = pages << 8 | head[i];
    if (pages <= promised_) return SQLITE_OK;
    const auto left = volume_of(path_).room;
    const auto grows = pages * page_size - size_of(database_);
    if (left >= 0 && grows > 0 && left < grows) return SQLITE_FULL;
    // Where there is plenty of room, the next few pages need no check.
    const bool plenty = left >= grows + ahead * page_size;
    promised_ = pages + (plenty ? ahead : 0);
    return SQLITE_OK;
  }

  std::string path_, database_;
  std::uint32_t promised_ = 0;              // the number of pages that has passed the check
  sqlite3_int64 size_ = 0;                  // the log is at least this long
  std::unique_ptr<unsigned char[]> bytes_;  // allocated by the first write
  sqlite3_int64 begin_ = 0;
  std::size_t kept_ = 0;
};

log_file& log(sqlite3_file* f) noexcept { return *static_cast<log_file*>(f); }

/// Writes the collected bytes first, then calls the method of the layer below.
template <auto Method, class... Arguments>
int after_sending(sqlite3_file* f, Arguments... given) {
  if (const int code = log(f).send(); code != SQLITE_OK) return code;
  return (log(f).real().*Method)(log(f).below(), given...);
}

/// Calls the method of the layer below, and does nothing else.
template <auto Method, class... Arguments>
int straight(sqlite3_file* f, Arguments... given) {
  return (log(f).real().*Method)(log(f).below(), given...);
}

/// What is collected still was never committed: at synchronous=FULL a commit ends with a flush of
/// the log, before which all is sent. It is dropped, as the lock of its transaction is gone, and
/// another process may have committed frames of its own in that place.
int close(sqlite3_file* f) {
  const int closed = log(f).real().xClose(log(f).below());
  log(f).~log_file();
  return closed;
}

int read(sqlite3_file* f, void* memory, int size, sqlite3_int64 offset) {
  return log(f).read(memory, size, offset);
}

int write(sqlite3_file* f, const void* memory, int size, sqlite3_int64 offset) {
  return log(f).write(memory, static_cast<std::size_t>(size), offset);
}

int truncate(sqlite3_file* f, sqlite3_int64 size) {
  log(f).cut_to(size);
  return after_sending<&sqlite3_io_methods::xTruncate, sqlite3_int64>(f, size);
}

using io = sqlite3_io_methods;

// Version 1: a log is never memory-mapped, and the WAL index belongs to the database's file.
constexpr io log_methods = {1,
                            close,
                            read,
                            write,
                            truncate,
                            after_sending<&io::xSync, int>,
                            after_sending<&io::xFileSize, sqlite3_int64*>,
                            straight<&io::xLock, int>,
                            straight<&io::xUnlock, int>,
                            straight<&io::xCheckReservedLock, int*>,
                            after_sending<&io::xFileControl, int, void*>,
                            straight<&io::xSectorSize>,
                            straight<&io::xDeviceCharacteristics>,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr};

sqlite3_vfs* layer_below(sqlite3_vfs* vfs) noexcept {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}

/// The layer below opens every file but the log, with nothing in between.
int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
  auto* const below = layer_below(vfs);
  if ((flags & SQLITE_OPEN_WAL) == 0) return below->xOpen(below, path, file, flags, out);
  auto* const made = new (static_cast<void*>(file)) log_file;
  const int code = below->xOpen(below, path, made->below(), flags, out);
  if (code != SQLITE_OK) return code;
  made->opened_as(path);
  made->pMethods = &log_methods;
  return code;
}

}  // namespace

void drop_unsent(sqlite3* database) noexcept {
  sqlite3_file* file = nullptr;
  const int found = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (found == SQLITE_OK && file != nullptr && file->pMethods == &log_methods) log(file).drop();
}

wal_vfs::wal_vfs(const char* below)
    : name_("onceguard-log-" + std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
  sqlite3_vfs* const found = sqlite3_vfs_find(below);
  if (found == nullptr) throw failure(SQLITE_ERROR, "no such file layer");
  made_ = *found;
  made_.zName = name_.c_str();
  made_.pNext = nullptr;
  made_.pAppData = found;
  made_.szOsFile = static_cast<int>(sizeof(log_file)) + found->szOsFile;
  made_.xOpen = open;
  made_.xDelete = [](sqlite3_vfs* v, const char* path, int sync) {
    return layer_below(v)->xDelete(layer_below(v), path, sync);
  };
  made_.xAccess = [](sqlite3_vfs* v, const char* path, int flags, int* out) {
    return layer_below(v)->xAccess(layer_below(v), path, flags, out);
  };
  made_.xFullPathname = [](sqlite3_vfs* v, const char* path, int size, char* out) {
    return layer_below(v)->xFullPathname(layer_below(v), path, size, out);
  };
  const int code = sqlite3_vfs_register(&made_, 0);
  if (code != SQLITE_OK) throw failure(code, "the file layer can't be registered");
}

wal_vfs::~wal_vfs() { sqlite3_vfs_unregister(&made_); }

}  // namespace onceguard::sqlite
