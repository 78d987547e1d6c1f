// SQLite's file layer with one difference: what SQLite appends to the write-ahead log, a frame's
// head and its page at a time, goes to the file in few large writes. A batch of 64 claims is some
// 140 frames, and a call of the system for each half of them would cost more than the copying.
//
// It changes no guarantee. What is kept back goes out before anything that could tell the
// difference: before a flush of the log, and with synchronous=FULL SQLite flushes it before a
// commit counts and before it tells other connections of it; before a read, a change of the size,
// and the end. Frames that are lost with the process were never committed, and a write that fails
// late fails the flush, and so the commit.
#pragma once
#include <string>

#include <sqlite3.h>

namespace onceguard::sqlite {

/// Known to SQLite by its name while it lives; must outlive the connections opened through it.
/// Thread-safety: as SQLite's own layer.
class wal_vfs {
 public:
  /// Over the layer of this name; null: SQLite's usual one. Throws `failure` if there is none.
  explicit wal_vfs(const char* below);
  ~wal_vfs();
  wal_vfs(const wal_vfs&) = delete;
  wal_vfs& operator=(const wal_vfs&) = delete;

  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

 private:
  const std::string name_;
  sqlite3_vfs made_{};
};

}  // namespace onceguard::sqlite
