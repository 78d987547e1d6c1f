// The last transaction of the write-ahead log, which a process may have left in the kernel's memory
// alone.
#pragma once
#include <string>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/lock_file.hpp"

namespace onceguard::sqlite {

/// Writes the last transaction over itself and flushes the log, unless all of the log is in the
/// file. A flush alone would say nothing: after a flush that failed, Linux takes the pages for
/// written, and the next flush has nothing to do. All before the last transaction is on the disk,
/// as none is written behind one that was not flushed.
///
/// Others may read and write meanwhile: while a transaction reads, SQLite changes no frame that it
/// has counted. The connection must be outside of a transaction. Failures are thrown.
/// `path`: of the database. A full volume that copies what is written over gets the room of
/// `reserve`.
void write_last_again(connection& connection, const std::string& path, lock_file& reserve);

}  // namespace onceguard::sqlite
