// A SQLite VFS with faults on demand: writes that find no room, flushes that fail, and flushes that
// hang until they are released.
#pragma once
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sqlite3.h>

namespace onceguard::testing {

enum class flush_fault { none, fail, hang };

/// Lets the flushes of one kind of file pass, fail or hang.
class flush_gate {
 public:
  /// Sets the fault for all flushes from now on. `none` also releases hanging flushes.
  void set(flush_fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
    changed_.notify_all();
  }
  /// Waits until a flush hangs.
  void wait_for_hang() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return hanging_ > 0; });
  }
  /// Waits until a flush has failed; returns at once if a flush has failed before the call.
  void wait_for_failure() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failed_ > 0; });
  }
  [[nodiscard]] int count() const { return count_; }
  /// Called by the functions of the VFS.
  [[nodiscard]] bool may_go_on() {
    std::unique_lock lock(mutex_);
    ++count_;
    if (fault_ == flush_fault::hang) {
      ++hanging_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return fault_ != flush_fault::hang; });
      --hanging_;
    }
    if (fault_ == flush_fault::fail) {
      ++failed_;
      changed_.notify_all();
    }
    return fault_ != flush_fault::fail;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> count_{0};
  flush_fault fault_ = flush_fault::none;
  int hanging_ = 0;
  int failed_ = 0;
};

/// What of one file has come to the disk. A flush that fails leaves the bytes in memory
/// alone, and no later flush writes them, as on Linux.
class disk_image {
 public:
  void written(std::int64_t offset, const void* bytes, int size) {
    const std::lock_guard lock(mutex_);
    ++writes_;
    in_memory_.emplace_back(
        offset, std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)));
  }
  void flushed(bool done) {
    const std::lock_guard lock(mutex_);
    for (const auto& [offset, bytes] : in_memory_) {
      if (!done) break;
      const auto begin = static_cast<std::size_t>(offset);
      if (bytes_.size() < begin + bytes.size()) bytes_.resize(begin + bytes.size());
      bytes_.replace(begin, bytes.size(), bytes);
    }
    in_memory_.clear();
  }
  [[nodiscard]] std::string bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  [[nodiscard]] int writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::int64_t, std::string>> in_memory_;
  std::string bytes_;
  int writes_ = 0;
};

/// A VFS that is registered with SQLite under `name` for the lifetime of the object. Only one
/// object may exist per process.
class fault_vfs {
 public:
  static constexpr const char* name = "onceguard-faults";

  fault_vfs();
  ~fault_vfs();
  fault_vfs(const fault_vfs&) = delete;
  fault_vfs& operator=(const fault_vfs&) = delete;

  /// Sets the fault for flushes of the write-ahead log from now on. `none` also releases hanging
  /// flushes.
  void flushes(flush_fault fault) { log.set(fault); }
  /// true: writes to the write-ahead log find no room.
  void full(bool flag) { full_ = flag; }
  /// Writes to the write-ahead log find no room while this file has content: a reserve, where the
  /// file system copies what is written over.
  void full_while_there_is(std::string reserve) { reserve_ = std::move(reserve); }
  /// Waits until a flush hangs.
  void wait_for_hang() { log.wait_for_hang(); }
  [[nodiscard]] int flushed() const { return log.count(); }
  /// The number of checkpoints that were begun.
  [[nodiscard]] int moves() const { return moves_; }
  /// How often the database file was opened.
  [[nodiscard]] int opened() const { return opened_; }
  void file_is_opened() { ++opened_; }
  /// The number of writes to the write-ahead log.
  [[nodiscard]] int written() const { return written_; }

  /// Called once, on the writing thread, as soon as a transaction has given the write lock back.
  /// Set while nobody writes.
  void when_the_write_lock_is_free(std::function<void()> call) {
    write_lock_free_ = std::move(call);
  }

  // Called by the functions of the VFS.
  void log_is_locked_to_move() { ++moves_; }
  void write_lock_is_free() {
    if (const auto call = std::exchange(write_lock_free_, nullptr)) call();
  }
  [[nodiscard]] bool log_takes_write() {
    ++written_;
    std::error_code none;
    return !full_ && (reserve_.empty() || std::filesystem::file_size(reserve_, none) == 0);
  }

  /// From now on, reads of the database file that begin at byte `position` fail; negative: no read
  /// fails.
  void bad_sector(std::int64_t position) { bad_sector_ = position; }
  [[nodiscard]] bool gives(std::int64_t position) const { return position != bad_sector_; }

  flush_gate log;
  disk_image log_disk, file_disk;
  flush_gate file;  ///< the database file, into which checkpoints copy the write-ahead log

 private:
  std::atomic<bool> full_{false};
  std::string reserve_;  // set while nobody writes
  std::function<void()> write_lock_free_;
  std::atomic<std::int64_t> bad_sector_{-1};
  std::atomic<int> written_{0};
  std::atomic<int> moves_{0};
  std::atomic<int> opened_{0};
};

/// The functions of the VFS, which SQLite calls.
namespace fault_layer {

inline fault_vfs* faults = nullptr;

struct wrapped_file {
  sqlite3_file base;
  bool is_log;
  bool is_database;
  sqlite3_file* real() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

inline sqlite3_vfs* real_vfs(sqlite3_vfs* vfs) noexcept {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}
inline wrapped_file* own(sqlite3_file* file) noexcept {
  return reinterpret_cast<wrapped_file*>(file);
}
inline sqlite3_file* real(sqlite3_file* file) noexcept { return own(file)->real(); }

/// Null: of a file whose bytes nobody asks for.
inline disk_image* disk_of(sqlite3_file* file) noexcept {
  if (own(file)->is_log) return &faults->log_disk;
  return own(file)->is_database ? &faults->file_disk : nullptr;
}

inline int close_file(sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); }
inline int read_file(sqlite3_file* f, void* memory, int size, sqlite3_int64 offset) {
  if (!own(f)->is_log && !faults->gives(offset)) return SQLITE_IOERR_READ;
  return real(f)->pMethods->xRead(real(f), memory, size, offset);
}
inline int write_file(sqlite3_file* f, const void* memory, int size, sqlite3_int64 offset) {
  if (own(f)->is_log && !faults->log_takes_write()) return SQLITE_FULL;
  if (const auto disk = disk_of(f)) disk->written(offset, memory, size);
  return real(f)->pMethods->xWrite(real(f), memory, size, offset);
}
inline int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  return real(f)->pMethods->xTruncate(real(f), size);
}
inline int flush_file(sqlite3_file* f, int flags) {
  const bool done = (own(f)->is_log ? faults->log : faults->file).may_go_on();
  if (const auto disk = disk_of(f)) disk->flushed(done);
  if (!done) return SQLITE_IOERR_FSYNC;
  return real(f)->pMethods->xSync(real(f), flags);
}
inline int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return real(f)->pMethods->xFileSize(real(f), size);
}
inline int lock_file(sqlite3_file* f, int level) {
  return real(f)->pMethods->xLock(real(f), level);
}
inline int unlock_file(sqlite3_file* f, int level) {
  return real(f)->pMethods->xUnlock(real(f), level);
}
inline int check_lock(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
inline int control_file(sqlite3_file* f, int op, void* arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}
inline int sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
inline int characteristics(sqlite3_file* f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
inline int map_memory(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}
inline int lock_memory(sqlite3_file* f, int offset, int n, int flags) {
  constexpr int to_write = 0;  // WAL_WRITE_LOCK
  constexpr int to_move = 1;   // WAL_CKPT_LOCK
  if (offset == to_move && n == 1 && (flags & SQLITE_SHM_LOCK) != 0) {
    faults->log_is_locked_to_move();
  }
  const int code = real(f)->pMethods->xShmLock(real(f), offset, n, flags);
  if (offset == to_write && (flags & SQLITE_SHM_UNLOCK) != 0) faults->write_lock_is_free();
  return code;
}
inline void memory_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
inline int unmap_memory(sqlite3_file* f, int remove) {
  return real(f)->pMethods->xShmUnmap(real(f), remove);
}

inline constexpr sqlite3_io_methods methods = {2,
                                               close_file,
                                               read_file,
                                               write_file,
                                               truncate_file,
                                               flush_file,
                                               file_size,
                                               lock_file,
                                               unlock_file,
                                               check_lock,
                                               control_file,
                                               sector_size,
                                               characteristics,
                                               map_memory,
                                               lock_memory,
                                               memory_barrier,
                                               unmap_memory,
                                               nullptr,
                                               nullptr};

inline int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
  auto* const f = own(file);
  f->base.pMethods = nullptr;
  f->is_log = (flags & SQLITE_OPEN_WAL) != 0;
  f->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (f->is_database) faults->file_is_opened();
  const int code = real_vfs(vfs)->xOpen(real_vfs(vfs), path, f->real(), flags, out);
  if (code == SQLITE_OK) f->base.pMethods = &methods;
  return code;
}

inline sqlite3_vfs made{};

}  // namespace fault_layer

inline fault_vfs::fault_vfs() {
  if (fault_layer::faults != nullptr) throw std::logic_error("one fault_vfs at a time");
  fault_layer::faults = this;
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  auto& made = fault_layer::made;
  made = *usual;
  made.zName = name;
  made.pAppData = usual;
  made.pNext = nullptr;
  made.szOsFile = static_cast<int>(sizeof(fault_layer::wrapped_file)) + usual->szOsFile;
  made.xOpen = fault_layer::open_file;
  made.xDelete = [](sqlite3_vfs* v, const char* path, int sync) {
    return fault_layer::real_vfs(v)->xDelete(fault_layer::real_vfs(v), path, sync);
  };
  made.xAccess = [](sqlite3_vfs* v, const char* path, int flags, int* out) {
    return fault_layer::real_vfs(v)->xAccess(fault_layer::real_vfs(v), path, flags, out);
  };
  made.xFullPathname = [](sqlite3_vfs* v, const char* path, int size, char* out) {
    return fault_layer::real_vfs(v)->xFullPathname(fault_layer::real_vfs(v), path, size, out);
  };
  sqlite3_vfs_register(&made, 0);
}

inline fault_vfs::~fault_vfs() {
  log.set(flush_fault::none);
  file.set(flush_fault::none);
  sqlite3_vfs_unregister(&fault_layer::made);
  fault_layer::faults = nullptr;
}

}  // namespace onceguard::testing
