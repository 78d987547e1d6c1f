// What can be told of the write-ahead log besides SQLite's own interface: how much of it is moved,
// and whether it is this file's.
#pragma once
#include <string>

#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {

/// Is all of the log in the file, so that the next commit may begin it anew? True as well where
/// nothing can be told. On a connection that has read or written before.
[[nodiscard]] bool all_moved(connection& connection) noexcept;

/// Was the log begun on this very file? Each log names, in the first commit after it began, the
/// token counter and the identity that the file had then, and every commit raises the counter. So a
/// file of an earlier or a later time shows by its own counter, read without the log, that the log
/// is not its own. True where there is no log, and for files of versions that named nothing.
/// While nobody moves the log. Failures of SQLite other than damage are thrown.
[[nodiscard]] bool log_belongs(connection& connection, const std::string& path, const char* vfs);

/// The name by which SQLite, asked to read, looks at the file alone, with no log, lock or trace.
[[nodiscard]] std::string file_alone(const std::string& path);

/// What to do about one that does not.
[[nodiscard]] std::string foreign_log(const std::string& path);

}  // namespace onceguard::sqlite
