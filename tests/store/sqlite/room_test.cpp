// The SQLite store on a small volume, and its answers while nothing can be written.
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/wal_reader.hpp"
#include "store/sqlite/wal_vfs.hpp"
#include "support/small_disk.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

namespace fs = std::filesystem;
using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;

constexpr std::uintmax_t mebibyte = 1u << 20;

class sqlite_room_test : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.mounted()) << "these tests mount a small tmpfs: run them as root";
    open();
  }
  void open() {
    blocking_.reset();
    if (store_) store_->stop();
    store_.reset();
    sqlite_params sqlite;
    sqlite.path = path_;
    sqlite.clock = &clock_;
    store_ = sqlite_store::open(sqlite).value();
    blocking_.emplace(*store_);
  }
  [[nodiscard]] std::uintmax_t log_size() const { return fs::file_size(path_ + "-wal"); }
  /// Completes up to `most` keys until a key finds no room; false: all keys found room.
  bool fill(int most) {
    for (int i = 0; i < most; ++i, ++done_) {
      const auto request = claim_of(std::to_string(done_));
      const auto verdict = blocking_->try_claim(request);
      if (!verdict) {
        EXPECT_EQ(verdict.error().code, errc::store_full) << verdict.error().detail;
        EXPECT_EQ(verdict.error().effect, effect::none);
        return true;
      }
      auto change = settle_of(request, verdict->lease);
      change.answer = answer_of(std::string(1'000, 'x'));
      const auto settled = blocking_->settles({change})[0];
      if (!settled) {
        EXPECT_EQ(settled.error().code, errc::store_full) << settled.error().detail;
        return true;
      }
    }
    return false;
  }
  /// Completes that many more keys. The log may have no room for a moment, as the checkpoints lag
  /// behind on a busy machine: that key comes again.
  void fill_all(int more) {
    const int goal = done_ + more;
    wait_until("room for all keys", [&] { return !fill(goal - done_); });
  }
  void expect_reads_and_replays() {
    EXPECT_EQ(blocking_->claim(claim_of("0")).kind, verdict_kind::replay);
    EXPECT_TRUE(blocking_->find(claim_of("0").id));
    EXPECT_FALSE(blocking_->list().records.empty());
    EXPECT_GT(blocking_->counted(observed_state::completed), 0u);
    blocking_->vitals();
  }
  void wait_until_it_takes_claims() {
    wait_until("a claim", [&] {
      return bool(blocking_->try_claim(claim_of("w" + std::to_string(++waited_))));
    });
  }

  temporary_folder folder_;
  small_disk disk_{folder_.file("disk"), "40m"};
  base::manual_clock clock_;
  const std::string path_ = folder_.file("disk/store.db");
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> blocking_;
  int done_ = 0;
  int waited_ = 0;
};

TEST_F(sqlite_room_test, the_wal_takes_only_a_part_of_the_volume) {
  fill_all(4'000);  // twice the volume, if the write-ahead log had no bound
  EXPECT_LE(log_size(), 12 * mebibyte);
  EXPECT_LE(log_size() + fs::file_size(path_), 25 * mebibyte);
}

TEST_F(sqlite_room_test, a_wal_that_cannot_be_checkpointed_leaves_the_room_for_a_checkpoint) {
  fill(100);
  {
    connection reading(path_, nullptr);
    reading.run("BEGIN");
    ASSERT_GT(reading.integer("SELECT count(*) FROM records"), 0);
    ASSERT_TRUE(fill(40'000));
    EXPECT_GT(volume_of(path_).room, static_cast<std::int64_t>(8 * mebibyte));
    expect_reads_and_replays();
    open();  // also after a restart
    expect_reads_and_replays();
    EXPECT_TRUE(fill(1'000));
  }
  wait_until_it_takes_claims();
  // The room that the write-ahead log had taken is given back.
  wait_until("a short log", [&] { return fill(50), log_size() < 12 * mebibyte; });
}

TEST_F(sqlite_room_test, a_volume_filled_by_other_files_stops_only_claims) {
  std::uintmax_t size_before = 0;
  {
    // Keeps pages in the write-ahead log that will need room in the file.
    connection reading(path_, nullptr);
    reading.run("BEGIN");
    ASSERT_EQ(reading.integer("SELECT count(*) FROM records"), 0);
    fill(200);
    size_before = log_size();
    std::ofstream filler(folder_.file("disk/filler"), std::ios::binary);
    const std::string piece(16'384, 'f');
    while (filler.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
    }
  }
  // Some claims still fit into the present size of the write-ahead log.
  ASSERT_TRUE(fill(20'000));
  expect_reads_and_replays();
  EXPECT_EQ(blocking_->claims({claim_of("0", "another")})[0]->kind, verdict_kind::mismatch);
  EXPECT_LE(log_size(), size_before + mebibyte);
  // The reserve made room in the file for the pages of the write-ahead log, which therefore starts
  // again from its beginning.
  EXPECT_EQ(fs::file_size(path_ + "-lock"), 0u);
  fs::remove(folder_.file("disk/filler"));
  wait_until_it_takes_claims();
  fill_all(2'000);
  // By the thread of the checkpoints, for which nobody waits.
  wait_until("the reserve", [&] { return fs::file_size(path_ + "-lock") == 40 * mebibyte / 64; });
}

TEST_F(sqlite_room_test, a_wal_that_filled_the_volume_can_be_checkpointed_completely) {
  ASSERT_TRUE(fill(100'000));
  // Everything that was committed can be checkpointed: only later writes are left in the
  // write-ahead log.
  wait_until("the log's end", [&] {
    blocking_->try_claim(claim_of("w" + std::to_string(++waited_)));
    connection neighbour(path_, nullptr);
    static_cast<void>(neighbour.integer("SELECT count(*) FROM records"));
    return sqlite::all_moved(neighbour);
  });
  EXPECT_EQ(blocking_->claim(claim_of("0")).kind, verdict_kind::replay);
}

TEST_F(sqlite_room_test, expired_records_that_fill_the_volume_are_removed_by_the_sweep) {
  // How many fit depends on how far the checkpoints lag behind, and so on the machine.
  ASSERT_TRUE(fill(100'000));
  ASSERT_GT(done_, 500);
  expect_reads_and_replays();
  clock_.advance(day);
  std::size_t gone = 0;
  wait_until("the sweep", [&] {
    gone += blocking_->sweep(100'000);  // if sweeps fail, the wait ends with a failure
    return gone > static_cast<std::size_t>(done_) / 2;
  });
  // A claim that reaches the end of the write-ahead log makes room in the log for the next claim.
  const auto goal = done_ + 500;
  wait_until("records again", [&] { return fill(100), done_ >= goal; });
}

/// A store while another process holds the write lock.
class sqlite_locked_test : public ::testing::Test {
 protected:
  sqlite_locked_test() {
    params_.path = folder_.file("store.db");
    params_.clock = &clock_;
    store_ = sqlite_store::open(params_).value();
    blocking_.emplace(*store_);
    blocking_->completed(claim_of("done"));
    blocking_->leased(claim_of("running"));
    neighbour_ = connection(params_.path, nullptr);
    neighbour_.run("BEGIN IMMEDIATE");
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  sqlite_params params_;
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> blocking_;
  connection neighbour_;
};

TEST_F(sqlite_locked_test, claims_that_need_no_write_are_answered_under_a_foreign_lock) {
  EXPECT_EQ(blocking_->claim(claim_of("done")).kind, verdict_kind::replay);
  EXPECT_EQ(blocking_->claim(claim_of("running", "another")).kind, verdict_kind::mismatch);
  EXPECT_EQ(blocking_->claim(claim_of("done", "another")).kind, verdict_kind::mismatch);
  neighbour_.run("ROLLBACK");
  EXPECT_EQ(blocking_->claim(claim_of("new")).kind, verdict_kind::run);
}

TEST_F(sqlite_locked_test, a_new_claim_times_out_without_effect_under_a_foreign_lock) {
  const auto verdict = blocking_->try_claim(claim_of("new"), milliseconds(50));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_unreachable);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_FALSE(blocking_->find(claim_of("new").id));
}

TEST_F(sqlite_locked_test, a_claim_of_a_running_key_waits_for_the_foreign_lock) {
  const auto verdict = blocking_->try_claim(claim_of("running"), milliseconds(50));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().effect, effect::none);
  neighbour_.run("ROLLBACK");
  EXPECT_EQ(blocking_->claim(claim_of("running")).kind, verdict_kind::busy);
}

TEST_F(sqlite_locked_test, opening_and_reading_need_no_lock) {
  const auto another = sqlite_store::open(params_).value();
  blocking_store there(*another);
  EXPECT_TRUE(there.find(claim_of("done").id));
  EXPECT_EQ(there.list().records.size(), 2u);
  EXPECT_EQ(there.counted(observed_state::completed), 1u);
}

TEST(sqlite_wal_room_test, a_wal_that_may_not_grow_is_reused_after_a_checkpoint) {
  temporary_folder folder;
  small_disk disk(folder.file("disk"), "4m");
  ASSERT_TRUE(disk.mounted()) << "these tests mount a small tmpfs: run them as root";
  sqlite::wal_vfs files(nullptr);
  connection connection(folder.file("disk/rows.db"), files.name());
  connection.run(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
      "CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)");
  const auto add = [&] { connection.run("INSERT INTO rows (bytes) VALUES (randomblob(100))"); };
  EXPECT_THROW(for (int i = 0; i < 2'000; ++i) add(), sqlite::failure);
  const auto size = fs::file_size(folder.file("disk/rows.db-wal"));
  // Half of the volume: the pages of the write-ahead log may need the other half in the file.
  EXPECT_GT(size, mebibyte);
  EXPECT_LE(size, 2 * mebibyte);
  connection.run("PRAGMA wal_checkpoint");
  for (int i = 0; i < 50; ++i) add();
  EXPECT_EQ(fs::file_size(folder.file("disk/rows.db-wal")), size);
  EXPECT_EQ(connection.text("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace onceguard::testing
