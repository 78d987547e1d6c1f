// Reads what SQLite's own interface does not report about the write-ahead log: whether it belongs
// to the file, whether it is damaged, and where its last transaction stands.
#pragma once
#include <cstdint>
#include <string>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/wal_index.hpp"

namespace onceguard::sqlite {

// Finds out whether a write-ahead log has transactions behind a damaged frame. SQLite takes such a
// log for one that ends before the damage, and says nothing.

/// True only if a committed transaction, with another one behind it, certainly follows. A last
/// transaction that a crash left incomplete, the remains of transactions that failed, and a former
/// log that was moved, are no damage. What can't be read is thrown as a failure.
[[nodiscard]] bool has_damaged_frames(const std::string& log, const log_position& read);

/// Where the frames of the log's last transaction stand in its file, in bytes.
struct frame_range {
  std::int64_t begin = 0, end = 0;
};
/// `read` has frames. A head that can't be read is thrown as a failure.
[[nodiscard]] frame_range last_transaction(const std::string& log, const log_position& read);

/// Says what to do about such a log.
[[nodiscard]] std::string damaged_log(const std::string& path);

/// Was the write-ahead log begun on this very file? The first commit after the start of a log
/// stores the token counter and the identity that the file had then, and every commit raises the
/// counter. So a file from an earlier or later time shows by its own counter, read without the log,
/// that the log belongs to another file. True if there is no log, and for files of versions that
/// stored no start. No checkpoint may run meanwhile. Failures of SQLite other than damage are
/// thrown.
[[nodiscard]] bool log_belongs(connection& connection, const std::string& path, const char* vfs);

/// The URI with which SQLite reads the file alone: without log and locks, and leaving no trace.
[[nodiscard]] std::string file_alone(const std::string& path);

/// Says what to do about a write-ahead log that does not belong to the file.
[[nodiscard]] std::string foreign_log(const std::string& path);
/// Says what to do about a write-ahead log whose file is missing or empty.
[[nodiscard]] std::string log_without_file(const std::string& path);

}  // namespace onceguard::sqlite
