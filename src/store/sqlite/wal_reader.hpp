// Reads what SQLite's own interface does not report about the write-ahead log: how much of it is in
// the file, and whether it belongs to the file.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {

// Finds out whether a write-ahead log has transactions behind a damaged frame. SQLite takes such a
// log for one that ends before the damage, and says nothing.

/// How far SQLite read the log, after the WAL index.
struct log_position {
  std::uint32_t frames = 0;              ///< that count; 0: none
  std::array<unsigned char, 8> salts{};  ///< of the log that they are in
  friend bool operator==(const log_position&, const log_position&) = default;
};

/// None if the index can't be mapped. The connection must have read or written before.
[[nodiscard]] std::optional<log_position> position_of(connection& connection) noexcept;

/// True only if a committed transaction, with another one behind it, certainly follows. A last
/// transaction that a crash left incomplete, the remains of transactions that failed, and a former
/// log that was moved, are no damage.
[[nodiscard]] bool has_damaged_frames(const std::string& log, const log_position& read);

/// Where the frames of the log's last transaction stand in its file, in bytes.
struct frame_range {
  std::int64_t begin = 0, end = 0;
};
/// `read` has frames. A head that can't be read is thrown as a failure.
[[nodiscard]] frame_range last_transaction(const std::string& log, const log_position& read);

/// Says what to do about such a log.
[[nodiscard]] std::string damaged_log(const std::string& path);

/// True: all of the write-ahead log is in the file, so the next commit may restart the log. Also
/// true if the state is not known. The connection must have read or written before.
[[nodiscard]] bool all_moved(connection& connection) noexcept;
/// The same; none if the state is not known, as the WAL index can't be mapped.
[[nodiscard]] std::optional<bool> all_moved_if_known(connection& connection) noexcept;

/// Was the write-ahead log begun on this very file? The first commit after the start of a log
/// stores the token counter and the identity that the file had then, and every commit raises the
/// counter. So a file from an earlier or later time shows by its own counter, read without the log,
/// that the log belongs to another file. True if there is no log, and for files of versions that
/// stored no start. No checkpoint may run meanwhile. Failures of SQLite other than damage are
/// thrown.
[[nodiscard]] bool log_belongs(connection& connection, const std::string& path, const char* vfs);

/// Does this connection use the WAL index of that name? All connections of a process share one
/// index, also after its file was removed. True if the system does not tell.
[[nodiscard]] bool index_is(connection& connection, const file_mark& index);

/// The URI with which SQLite reads the file alone: without log and locks, and leaving no trace.
[[nodiscard]] std::string file_alone(const std::string& path);

/// Says what to do about a write-ahead log that does not belong to the file.
[[nodiscard]] std::string foreign_log(const std::string& path);
/// Says what to do about a write-ahead log whose file is missing or empty.
[[nodiscard]] std::string log_without_file(const std::string& path);

}  // namespace onceguard::sqlite
