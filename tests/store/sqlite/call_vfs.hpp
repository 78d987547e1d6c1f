// A SQLite VFS that counts its calls, and fails one of them: the disk is full, the device fails, a
// write is torn, or the power goes. What was not flushed can be taken back as a power cut does.
#pragma once
#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <sqlite3.h>

namespace onceguard::testing {

enum class call_fault {
  full,        ///< ENOSPC, of the calls that may need room
  broken,      ///< EIO, of any call
  torn,        ///< half of a write arrives, then EIO
  power,       ///< every later call fails too, and nothing that was not flushed is left
  torn_power,  ///< the same, but every second write was on the disk all the same
};

/// A VFS that is registered under `name` for the lifetime of the object; one per process.
class call_vfs {
 public:
  static constexpr const char* name = "onceguard-calls";

  call_vfs();
  ~call_vfs();
  call_vfs(const call_vfs&) = delete;
  call_vfs& operator=(const call_vfs&) = delete;

  /// The call `number`, counted from 1 over those that `fault` can meet, fails.
  void fail(call_fault fault, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    fault_ = fault, number_ = number, count_ = 0, failed_.clear(), unflushed_.clear();
  }
  /// No call fails from now on.
  void heal() {
    const std::lock_guard lock(mutex_);
    number_ = 0;
  }
  /// What failed; empty: nothing did.
  [[nodiscard]] std::string failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  /// So many calls that the fault could meet.
  [[nodiscard]] std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// Takes back what was not flushed. No file may be open.
  void cut_power();

  // Called by the functions of the VFS.
  enum class outcome { passes, fails, half };
  [[nodiscard]] outcome next(const char* call, const std::string& path, bool needs_room,
                             bool writes) {
    const std::lock_guard lock(mutex_);
    if (number_ == 0 || (fault_ == call_fault::full && !needs_room) ||
        (fault_ == call_fault::torn && !writes)) {
      return outcome::passes;
    }
    const bool met = ++count_ == number_;
    if (met) failed_ = call + (" of " + path.substr(path.rfind('/') + 1));
    if (met && fault_ == call_fault::torn) return outcome::half;
    return met || (cuts() && count_ > number_) ? outcome::fails : outcome::passes;
  }
  [[nodiscard]] bool is_full() const noexcept { return fault_ == call_fault::full; }
  [[nodiscard]] bool cuts() const noexcept {
    return fault_ == call_fault::power || fault_ == call_fault::torn_power;
  }
  void written(const std::string& path, std::int64_t offset, std::string before,
               std::int64_t size) {
    const std::lock_guard lock(mutex_);
    if (number_ != 0) unflushed_[path].push_back({offset, std::move(before), size});
  }
  void flushed(const std::string& path) {
    const std::lock_guard lock(mutex_);
    unflushed_.erase(path);
  }

 private:
  struct former {
    std::int64_t offset;
    std::string bytes;
    std::int64_t size;  ///< of the file
  };

  mutable std::mutex mutex_;
  call_fault fault_ = call_fault::full;
  std::uint64_t number_ = 0, count_ = 0;
  std::string failed_;
  std::map<std::string, std::vector<former>> unflushed_;
};

/// The functions of the VFS, which SQLite calls.
namespace call_layer {

inline call_vfs* faults = nullptr;
using outcome = call_vfs::outcome;

struct file : sqlite3_file {
  std::string* path;
  sqlite3_file* real() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods& does() noexcept { return *real()->pMethods; }
};

inline file* own(sqlite3_file* f) noexcept { return static_cast<file*>(f); }
inline bool passes(sqlite3_file* f, const char* call, bool needs_room = false) {
  return faults->next(call, *own(f)->path, needs_room, false) == outcome::passes;
}
/// Of the bytes from `at` on, before they are written over or cut off.
inline void keep_former(file& f, std::int64_t offset, std::int64_t length) {
  if (!faults->cuts()) return;
  sqlite3_int64 size = 0;
  if (f.does().xFileSize(f.real(), &size) != SQLITE_OK) return;
  const auto there = std::clamp<std::int64_t>(size - offset, 0, length);
  std::string bytes(static_cast<std::size_t>(there), '\0');
  if (there > 0) f.does().xRead(f.real(), bytes.data(), static_cast<int>(there), offset);
  faults->written(*f.path, offset, std::move(bytes), size);
}

inline int close_file(sqlite3_file* f) {
  const int code = own(f)->does().xClose(own(f)->real());
  delete own(f)->path;
  return code;
}
inline int read_file(sqlite3_file* f, void* memory, int size, sqlite3_int64 offset) {
  if (!passes(f, "a read")) return SQLITE_IOERR_READ;
  return own(f)->does().xRead(own(f)->real(), memory, size, offset);
}
inline int write_file(sqlite3_file* f, const void* memory, int size, sqlite3_int64 offset) {
  const auto comes = faults->next("a write", *own(f)->path, true, true);
  if (comes == outcome::fails) return faults->is_full() ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  keep_former(*own(f), offset, size);
  const int sent = comes == outcome::half ? size / 2 : size;
  const int code = own(f)->does().xWrite(own(f)->real(), memory, sent, offset);
  return comes == outcome::half ? SQLITE_IOERR_WRITE : code;
}
inline int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  if (!passes(f, "a truncation")) return SQLITE_IOERR_TRUNCATE;
  keep_former(*own(f), size, 1 << 30);
  return own(f)->does().xTruncate(own(f)->real(), size);
}
/// Nothing is flushed for real: no machine goes down in these tests.
inline int flush_file(sqlite3_file* f, int) {
  if (!passes(f, "a flush", true)) return SQLITE_IOERR_FSYNC;
  faults->flushed(*own(f)->path);
  return SQLITE_OK;
}
inline int file_size(sqlite3_file* f, sqlite3_int64* size) {
  if (!passes(f, "a look at the size")) return SQLITE_IOERR_FSTAT;
  return own(f)->does().xFileSize(own(f)->real(), size);
}
inline int lock_file(sqlite3_file* f, int level) {
  if (!passes(f, "a lock")) return SQLITE_IOERR_LOCK;
  return own(f)->does().xLock(own(f)->real(), level);
}
inline int map_memory(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  if (!passes(f, "a mapping", true)) return SQLITE_IOERR_SHMSIZE;
  return own(f)->does().xShmMap(own(f)->real(), page, size, extend, out);
}
inline int lock_memory(sqlite3_file* f, int offset, int n, int flags) {
  const bool takes = (flags & SQLITE_SHM_LOCK) != 0;
  if (takes && !passes(f, "a lock of the index")) return SQLITE_IOERR_SHMLOCK;
  return own(f)->does().xShmLock(own(f)->real(), offset, n, flags);
}
template <auto Method, class... Arguments>
auto straight(sqlite3_file* f, Arguments... given) {
  return (own(f)->does().*Method)(own(f)->real(), given...);
}

using io = sqlite3_io_methods;
inline constexpr io methods = {2,
                               close_file,
                               read_file,
                               write_file,
                               truncate_file,
                               flush_file,
                               file_size,
                               lock_file,
                               straight<&io::xUnlock, int>,
                               straight<&io::xCheckReservedLock, int*>,
                               straight<&io::xFileControl, int, void*>,
                               straight<&io::xSectorSize>,
                               straight<&io::xDeviceCharacteristics>,
                               map_memory,
                               lock_memory,
                               straight<&io::xShmBarrier>,
                               straight<&io::xShmUnmap, int>,
                               nullptr,
                               nullptr};

inline sqlite3_vfs* below(sqlite3_vfs* vfs) noexcept {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}
inline int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* f, int flags, int* out) {
  auto& made = *own(f);
  made.pMethods = nullptr;
  const std::string name = path == nullptr ? "" : path;
  if (faults->next("an opening", name, true, false) != outcome::passes) return SQLITE_CANTOPEN;
  const int code = below(vfs)->xOpen(below(vfs), path, made.real(), flags, out);
  if (code != SQLITE_OK) return code;
  made.path = new std::string(name);
  made.pMethods = &methods;
  return code;
}

inline sqlite3_vfs made{};

}  // namespace call_layer

inline call_vfs::call_vfs() {
  if (call_layer::faults != nullptr) throw std::logic_error("one call_vfs at a time");
  call_layer::faults = this;
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  auto& made = call_layer::made;
  made = *usual;
  made.zName = name;
  made.pAppData = usual;
  made.pNext = nullptr;
  made.szOsFile = static_cast<int>(sizeof(call_layer::file)) + usual->szOsFile;
  made.xOpen = call_layer::open_file;
  made.xDelete = [](sqlite3_vfs* v, const char* path, int sync) {
    const auto comes = call_layer::faults->next("a removal", path, false, false);
    if (comes != call_layer::outcome::passes) return SQLITE_IOERR_DELETE;
    return call_layer::below(v)->xDelete(call_layer::below(v), path, sync);
  };
  made.xAccess = [](sqlite3_vfs* v, const char* path, int flags, int* out) {
    const auto comes = call_layer::faults->next("a look", path, false, false);
    if (comes != call_layer::outcome::passes) return SQLITE_IOERR_ACCESS;
    return call_layer::below(v)->xAccess(call_layer::below(v), path, flags, out);
  };
  made.xFullPathname = [](sqlite3_vfs* v, const char* path, int size, char* out) {
    return call_layer::below(v)->xFullPathname(call_layer::below(v), path, size, out);
  };
  sqlite3_vfs_register(&made, 0);
}

inline call_vfs::~call_vfs() {
  sqlite3_vfs_unregister(&call_layer::made);
  call_layer::faults = nullptr;
}

inline void call_vfs::cut_power() {
  const std::lock_guard lock(mutex_);
  number_ = 0;
  for (auto& [path, writes] : unflushed_) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;  // removed since
    for (std::size_t i = writes.size(); i-- > 0;) {
      const auto& each = writes[i];
      if (fault_ == call_fault::torn_power && i % 2 == 0) continue;  // this one was on the disk
      const auto put = ::pwrite(fd, each.bytes.data(), each.bytes.size(), each.offset);
      if (put != static_cast<ssize_t>(each.bytes.size())) throw std::runtime_error("pwrite");
      if (fault_ == call_fault::power && ::ftruncate(fd, each.size) != 0) {
        throw std::runtime_error("ftruncate");
      }
    }
    ::close(fd);
  }
  unflushed_.clear();
}

}  // namespace onceguard::testing
