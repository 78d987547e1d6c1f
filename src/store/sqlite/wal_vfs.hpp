// The WAL VFS: SQLite's file layer with one difference. SQLite appends a frame to the write-ahead
// log as its header and then its page. This layer collects the appends and sends them to the file
// in few large writes. A batch of 64 claims is some 140 frames, and a system call for each half of
// a frame would cost more than the copying.
//
// It changes no guarantee. Collected bytes are written before anything that could show the
// difference: before a flush of the log, before a read of them, and before a change of the size.
// With synchronous=FULL, SQLite flushes the log before a commit counts and before other connections
// see it. So what is collected when a connection closes, or when a process dies, was never
// committed, and a late write that fails also fails the flush, and so the commit. The bytes of a
// transaction that is rolled back, or that its connection closes, are dropped: once its lock is
// gone, another process writes its own frames in their place.
//
// Only for connections with synchronous=FULL: at NORMAL no flush follows a commit, and its frames
// would stay here. Every session sets it before its first write, whatever this build of SQLite
// begins with: those that write (the writer, the maker of the index by key), and those that only
// read, as they run checkpoints (the reader, the checkpointer, the examination and the backup).
#pragma once
#include <string>

#include <sqlite3.h>

namespace onceguard::sqlite {

/// Registered with SQLite under its name while this object lives; must outlive the connections that
/// are opened through it. Thread-safety: as SQLite's own layer.
class wal_vfs {
 public:
  /// `below`: the name of the layer below; null: SQLite's default one. Throws `failure` if there is
  /// none.
  explicit wal_vfs(const char* below);
  ~wal_vfs();
  wal_vfs(const wal_vfs&) = delete;
  wal_vfs& operator=(const wal_vfs&) = delete;

  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

 private:
  const std::string name_;
  sqlite3_vfs made_{};
};

/// After a rollback of a connection, whatever its file layer is.
void drop_unsent(sqlite3* database) noexcept;

}  // namespace onceguard::sqlite
