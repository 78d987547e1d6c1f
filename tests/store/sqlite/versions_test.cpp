// SQLite files that older and newer versions of onceguard have written.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/record_bytes.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_store;

class sqlite_versions_test : public ::testing::Test {
 protected:
  result<std::unique_ptr<sqlite_store>> try_open() {
    sqlite::sqlite_params value;
    value.path = path_;
    return sqlite_store::open(value);
  }
  std::unique_ptr<sqlite_store> open() { return try_open().value(); }
  std::int64_t version() { return connection(path_, nullptr).integer("PRAGMA user_version"); }

  temporary_folder folder_;
  const std::string path_ = folder_.file("store.db");
};

TEST_F(sqlite_versions_test, a_file_of_a_newer_version_is_refused_and_left_unchanged) {
  open()->stop();
  connection(path_, nullptr).run("PRAGMA user_version = 5");
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::invalid_argument);
  EXPECT_THAT(opened.error().detail,
              ::testing::HasSubstr("newer version of onceguard (schema 5; this version knows 4)"));
  EXPECT_EQ(version(), 5);
}

TEST_F(sqlite_versions_test, a_file_of_the_first_version_is_upgraded_and_keeps_its_records) {
  const auto request = claim_of("k");
  const auto left_open = claim_of("still running");
  auto unknown = claim_of("unknown");
  unknown.unknown_retention = day;
  {
    const auto store = open();
    blocking_store caller(*store);
    caller.settle(settle_of(request, caller.leased(request)));
    caller.leased(left_open);
    caller.settle(settle_of(unknown, caller.leased(unknown), settle_kind::abandon));
    store->stop();
  }
  {
    connection connection(path_, nullptr);
    auto rows = connection.prepare("SELECT id, record FROM records");
    auto put = connection.prepare("UPDATE records SET record = ? WHERE id = ?");
    std::map<std::int64_t, std::string> older;
    while (rows.step()) older[rows.integer(0)] = as_format_1(rows.bytes(1));
    for (const auto& [id, bytes] : older) put.bind_blob(1, bytes).bind(2, id).run();
    ASSERT_EQ(older.size(), 3u);
    connection.run(
        "UPDATE records SET expires_at = expires_at + 4611686018427387904 WHERE expires_at < 0; "
        "DROP TABLE unreadable; ALTER TABLE meta DROP COLUMN log_base; "
        "ALTER TABLE meta DROP COLUMN log_identity; PRAGMA user_version = 1");
  }
  const auto store = open();
  blocking_store caller(*store);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.claim(claim_of("still running")).kind, verdict_kind::busy);
  list_filter filter;
  filter.needs_person = true;
  const auto listed = caller.list(filter);
  ASSERT_EQ(listed.records.size(), 1u);
  EXPECT_EQ(listed.records[0].stored.about->key, "unknown");
  EXPECT_GT(listed.records[0].retention_left, milliseconds(0));
  // From here on, versions that cannot read the new records refuse the file.
  EXPECT_EQ(version(), 4);
}

TEST_F(sqlite_versions_test, what_version_3_writes_of_running_records_lets_no_sweep_remove_them) {
  const auto store = open();
  blocking_store caller(*store);
  auto request = claim_of("k");
  request.unknown_retention = day;
  caller.leased(request);
  // A process of schema 3 on the same file has the end of unsettled records where those of settled
  // ones are, and a renewal that it did not see may have moved it.
  connection(path_, nullptr).run("UPDATE records SET expires_at = 1");
  EXPECT_EQ(caller.sweep(), 0u);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::busy);
}

}  // namespace
}  // namespace onceguard::testing
