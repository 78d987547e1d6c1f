#include "store/sqlite/log_tail.hpp"

#include <algorithm>
#include <vector>

#include "base/log.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/wal_reader.hpp"

namespace onceguard::sqlite {
namespace {

// Whole frames, and not a frame's head alone, by which the file layer knows what a commit writes.
constexpr std::int64_t piece_size = 15 * (24 + page_size);

/// Ends with the transaction also what the file layer has collected and not sent.
struct read_transaction {
  connection& target;
  ~read_transaction() { target.roll_back(); }
};

void expect_done(int code, const char* act) {
  if (code != SQLITE_OK) {
    throw failure(code, std::string("the end of the write-ahead log could not be ") + act);
  }
}

void write_once(connection& connection, const std::string& log) {
  const read_transaction whole{connection};
  connection.run("BEGIN");
  static_cast<void>(connection.integer("PRAGMA schema_version"));  // begins to read
  // In this order. While this transaction reads, a log that is not all in the file can't begin
  // anew, and so its frames stay where they are. SQLite flushes the file before it says that all is
  // there.
  const auto moved = all_moved_if_known(connection);
  if (moved && *moved) return;
  const auto read = position_of(connection);
  if (!moved || !read)
    throw failure(SQLITE_IOERR, "the index of the write-ahead log can't be read");
  if (read->frames == 0) return;
  sqlite3_file* file = nullptr;
  const int found =
      sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (found != SQLITE_OK || file->pMethods == nullptr) throw failure(found, "no such file");
  std::vector<char> bytes(piece_size);
  const auto [begin, end] = last_transaction(log, *read);
  for (auto offset = begin; offset < end; offset += piece_size) {
    const auto size = static_cast<int>(std::min(piece_size, end - offset));
    expect_done(file->pMethods->xRead(file, bytes.data(), size, offset), "read");
    expect_done(file->pMethods->xWrite(file, bytes.data(), size, offset), "written again");
  }
  expect_done(file->pMethods->xSync(file, SQLITE_SYNC_NORMAL), "flushed");
}

}  // namespace

void write_last_again(connection& connection, const std::string& path, lock_file& reserve) {
  try {
    write_once(connection, path + "-wal");
  } catch (const failure& why) {
    // Where a file system copies what is written over, that needs room.
    if (why.code() != SQLITE_FULL || !reserve.give_up_reserve()) throw;
    base::log(base::event::reserve_used, {{"store", path}});
    write_once(connection, path + "-wal");
  }
}

}  // namespace onceguard::sqlite
