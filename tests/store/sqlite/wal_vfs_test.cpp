// The WAL VFS: SQLite must find the same write-ahead log with the VFS as without; only the number
// of writes differs.
#include "store/sqlite/wal_vfs.hpp"

#include <string>

#include <gtest/gtest.h>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::wal_vfs;

class sqlite_wal_vfs_test : public ::testing::Test {
 protected:
  sqlite_wal_vfs_test() {
    connection_.run(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
  }
  /// Adds `count` rows, each about as large as a page.
  void add(connection& connection, int count) {
    connection.run(("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                    std::to_string(count) +
                    ") INSERT INTO rows (bytes) SELECT randomblob(4000) FROM n")
                       .c_str());
  }
  static std::int64_t count(connection& connection) {
    return connection.integer("SELECT count(*) FROM rows");
  }
  static std::string digest(connection& connection) {
    return connection.text(
        "SELECT hex(sum(length(bytes))) || group_concat(hex(substr(bytes, 1, 8))) "
        "FROM rows");
  }
  /// A connection that does not use the WAL VFS.
  connection plain() { return {folder_.file("rows.db"), nullptr}; }

  temporary_folder folder_;
  fault_vfs faults_;
  wal_vfs files_{fault_vfs::name};
  connection connection_{folder_.file("rows.db"), files_.name()};
};

TEST_F(sqlite_wal_vfs_test, a_transaction_is_written_in_few_writes) {
  const int before = faults_.written();
  add(connection_, 200);  // more than 400 writes without the VFS
  EXPECT_LE(faults_.written() - before, 10);
  auto other = plain();
  EXPECT_EQ(count(other), 200);
  EXPECT_EQ(digest(other), digest(connection_));
}

TEST_F(sqlite_wal_vfs_test, a_transaction_larger_than_the_cache_reads_its_own_writes) {
  connection_.run("PRAGMA cache_size = 10; BEGIN");
  add(connection_, 300);
  EXPECT_EQ(count(connection_), 300);
  connection_.run("UPDATE rows SET bytes = randomblob(4001) WHERE id % 3 = 0");
  const auto mine = digest(connection_);
  auto other = plain();
  EXPECT_EQ(count(other), 0);
  connection_.run("COMMIT");
  EXPECT_EQ(digest(other), mine);
  EXPECT_EQ(other.text("PRAGMA integrity_check"), "ok");
}

TEST_F(sqlite_wal_vfs_test, rolled_back_rows_are_not_in_the_database) {
  add(connection_, 5);
  connection_.run("PRAGMA cache_size = 10; BEGIN");
  add(connection_, 300);
  connection_.run("ROLLBACK");
  add(connection_, 1);
  auto other = plain();
  EXPECT_EQ(count(other), 6);
  EXPECT_EQ(other.text("PRAGMA integrity_check"), "ok");
}

TEST_F(sqlite_wal_vfs_test, what_was_rolled_back_is_never_written_over_anothers_commits) {
  add(connection_, 5);
  connection_.run("PRAGMA cache_size = 10; BEGIN");
  add(connection_, 40);  // more than the cache: some frames are collected before the end
  ASSERT_TRUE(connection_.roll_back());
  auto other = plain();
  add(other, 60);
  const auto committed = digest(other);
  EXPECT_EQ(count(connection_), 65);
  add(connection_, 1);
  connection_ = connection();
  auto third = plain();
  EXPECT_EQ(third.text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(count(third), 66);
  third.run("DELETE FROM rows WHERE id = 66");
  EXPECT_EQ(digest(third), committed);
}

/// A failure may leave a transaction to the close of its connection. What it had collected is not
/// sent then: another process may have committed its own frames in that place.
TEST_F(sqlite_wal_vfs_test, what_a_closed_connection_had_not_committed_is_never_written) {
  for (const bool is_last : {false, true}) {
    for (const bool rolled_back : {false, true}) {
      sqlite::connection closing(folder_.file("rows.db"), files_.name());
      closing.run("PRAGMA synchronous = FULL; PRAGMA cache_size = 10; BEGIN");
      add(closing, 40);
      sqlite::connection writer = plain();
      if (rolled_back) {
        closing.run("ROLLBACK");  // its frames stay collected
        add(writer, 60);
      }
      const auto committed = digest(writer);
      const auto before = faults_.written();
      if (is_last) {  // closes with a checkpoint, which flushes the log
        writer = connection();
        connection_ = connection();
      }
      closing = connection();
      EXPECT_EQ(faults_.written(), before);
      auto other = plain();
      EXPECT_EQ(other.text("PRAGMA integrity_check"), "ok");
      EXPECT_EQ(digest(other), committed);
      if (is_last) connection_ = connection(folder_.file("rows.db"), files_.name());
    }
  }
}

TEST_F(sqlite_wal_vfs_test, a_restarted_wal_is_readable_without_the_vfs) {
  auto other = plain();
  for (int round = 1; round <= 5; ++round) {
    add(connection_, 20);
    EXPECT_EQ(count(other), 20 * round);
    connection_.run("PRAGMA wal_checkpoint(RESTART)");
  }
  EXPECT_EQ(digest(other), digest(connection_));
}

TEST_F(sqlite_wal_vfs_test, a_deferred_write_that_fails_fails_the_commit) {
  add(connection_, 5);
  faults_.full(true);
  try {
    add(connection_, 5);
    ADD_FAILURE() << "it was committed";
  } catch (const sqlite::failure& failed) {
    EXPECT_EQ(failed.code(), SQLITE_FULL);
  }
  faults_.full(false);
  auto other = plain();
  EXPECT_EQ(count(other), 5);
  add(connection_, 2);
  EXPECT_EQ(count(other), 7);
  EXPECT_EQ(other.text("PRAGMA integrity_check"), "ok");
}

TEST_F(sqlite_wal_vfs_test, a_wal_vfs_over_an_unknown_vfs_is_refused) {
  EXPECT_THROW(wal_vfs("no-such-layer"), sqlite::failure);
}

}  // namespace
}  // namespace onceguard::testing
