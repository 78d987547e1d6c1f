// A write-ahead log and a database file that do or do not belong together, after kills, restores
// and copies.
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/wal_reader.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

namespace fs = std::filesystem;
using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;
using ::testing::HasSubstr;

class sqlite_pair_test : public ::testing::Test {
 protected:
  [[nodiscard]] sqlite_params params() const {
    sqlite_params out;
    out.path = path_;
    out.clock = &clock_;
    return out;
  }
  void open(const sqlite_params& sqlite) {
    close();
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    blocking_.emplace(*store_);
  }
  void open() { open(params()); }
  void close() {
    blocking_.reset();
    if (store_) store_->stop();
    store_.reset();
  }
  void complete(int version, int descriptor) {
    for (int i = version; i < descriptor; ++i) blocking_->completed(claim_of(std::to_string(i)));
  }
  void expect_replays(int version, int descriptor) {
    for (int i = version; i < descriptor; ++i) {
      EXPECT_EQ(blocking_->claim(claim_of(std::to_string(i))).kind, verdict_kind::replay) << i;
    }
  }
  /// Copies the database file and its write-ahead log, as a kill of the process would leave both.
  void save(const std::string& as) {
    for (const char* suffix : {"", "-wal"}) {
      if (!fs::exists(path_ + suffix)) continue;
      fs::copy_file(path_ + suffix, folder_.file(as + suffix),
                    fs::copy_options::overwrite_existing);
    }
  }
  /// Puts back one file of those that `save` copied, as if the process had been killed at `save`.
  void bring_back(const std::string& saved, const std::string& suffix) {
    fs::copy_file(folder_.file(saved + suffix), path_ + suffix,
                  fs::copy_options::overwrite_existing);
  }
  void remove_all() {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix);
  }
  void expect_foreign() {
    const auto opened = sqlite_store::open(params());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::store_lost);
    EXPECT_THAT(opened.error().detail, HasSubstr("the log beside it"));
    EXPECT_THAT(opened.error().detail, HasSubstr("onceguard restore"));
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const std::string path_ = folder_.file("store.db");
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> blocking_;
};

TEST_F(sqlite_pair_test, an_older_file_with_a_newer_wal_is_refused_and_left_unchanged) {
  open();
  complete(0, 20);
  close();
  save("old");
  open();
  complete(20, 40);
  close();
  open();
  complete(40, 60);
  save("new");
  close();
  remove_all();
  bring_back("old", "");
  bring_back("new", "-wal");
  const auto log_before = fs::file_size(path_ + "-wal");
  expect_foreign();
  expect_foreign();
  EXPECT_EQ(fs::file_size(path_ + "-wal"), log_before);
  // The remedy that the error message names: without the write-ahead log, the file opens as it was.
  fs::remove(path_ + "-wal");
  fs::remove(path_ + "-shm");
  open();
  expect_replays(0, 20);
  EXPECT_EQ(blocking_->counted(observed_state::completed), 20u);
  EXPECT_EQ(connection(path_, nullptr).text("PRAGMA integrity_check"), "ok");
}

TEST_F(sqlite_pair_test, an_older_file_that_lacks_only_a_settle_is_refused_with_a_newer_wal) {
  open();
  const auto request = claim_of("k");
  const auto held = blocking_->leased(request);
  close();
  save("old");
  // The write-ahead log in between holds the settle alone, and no entry for the start or end of a
  // process.
  open();
  blocking_->settle(settle_of(request, held));
  close();
  open();
  complete(0, 5);
  save("new");
  close();
  remove_all();
  bring_back("old", "");
  bring_back("new", "-wal");
  expect_foreign();
}

TEST_F(sqlite_pair_test, a_newer_file_with_an_older_wal_is_refused) {
  open();
  complete(0, 20);
  close();
  open();
  complete(20, 40);
  save("log");
  close();
  open();
  complete(40, 60);
  close();
  save("new");
  remove_all();
  bring_back("new", "");
  bring_back("log", "-wal");
  expect_foreign();
}

TEST_F(sqlite_pair_test, a_wal_of_another_store_is_refused) {
  open();
  complete(0, 20);
  close();
  save("mine");
  remove_all();
  open();
  complete(0, 3);
  close();
  open();
  complete(3, 20);
  save("other");
  close();
  remove_all();
  bring_back("mine", "");
  bring_back("other", "-wal");
  expect_foreign();
}

TEST_F(sqlite_pair_test, a_wal_of_another_program_is_refused) {
  open();
  complete(0, 20);
  close();
  {
    connection theirs(folder_.file("theirs"), nullptr);
    theirs.run("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)");
    fs::copy_file(folder_.file("theirs-wal"), path_ + "-wal");
  }
  expect_foreign();
  fs::remove(path_ + "-wal");
  fs::remove(path_ + "-shm");
  open();
  expect_replays(0, 20);
}

TEST_F(sqlite_pair_test, a_file_torn_during_a_checkpoint_is_repaired_by_its_wal) {
  open();
  complete(0, 20);
  close();
  open();
  complete(20, 40);
  save("killed");
  close();
  remove_all();
  bring_back("killed", "");
  bring_back("killed", "-wal");
  // The page of `meta`, which every write-ahead log contains.
  const auto page = connection(folder_.file("killed"), nullptr)
                        .integer("SELECT rootpage FROM sqlite_schema WHERE name = 'meta'");
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * 4'096);
    file << std::string(4'096, '\xff');
  }
  open();
  expect_replays(0, 40);
}

TEST_F(sqlite_pair_test, a_vacuumed_copy_is_refused_with_the_wal_of_its_original) {
  open();
  complete(0, 20);
  close();
  open();
  complete(20, 40);
  connection(path_, nullptr).run(("VACUUM INTO '" + folder_.file("packed") + "'").c_str());
  complete(40, 60);
  save("new");
  close();
  remove_all();
  bring_back("packed", "");
  bring_back("new", "-wal");
  expect_foreign();
}

TEST_F(sqlite_pair_test, a_kill_between_checkpoints_leaves_a_matching_file_and_wal) {
  auto value = params();
  value.checkpoint_pages = 20;
  open(value);
  int done = 0;
  for (int round = 0; round < 40; ++round) {
    complete(done, done + 3);
    done += 3;
    // A copy of file and write-ahead log, made while no checkpoint runs, equals what a kill leaves.
    sqlite::lock_file lock(path_);
    while (!lock.try_turn()) std::this_thread::yield();
    save("killed");
    lock.end_turn();
    sqlite_params killed = params();
    killed.path = folder_.file("killed");
    {
      const auto opened = sqlite_store::open(killed);
      ASSERT_TRUE(opened) << round << ": " << opened.error().detail;
      blocking_store there(**opened);
      for (int i = 0; i < done; ++i) {
        ASSERT_EQ(there.claim(claim_of(std::to_string(i))).kind, verdict_kind::replay) << i;
      }
      (*opened)->stop();
    }
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(folder_.file("killed") + suffix);
  }
}

/// A kill during a checkpoint may leave any part of the write-ahead log in the file.
TEST_F(sqlite_pair_test, a_file_with_a_partly_checkpointed_wal_is_accepted) {
  open();
  complete(0, 20);
  close();
  save("base");
  open();
  complete(20, 40);
  save("early");
  complete(40, 60);
  save("late");
  close();
  for (const bool moved_early : {false, true}) {
    remove_all();
    bring_back(moved_early ? "early" : "base", "");
    if (moved_early) {
      bring_back("early", "-wal");
      connection(path_, nullptr).run("PRAGMA wal_checkpoint(TRUNCATE)");
      fs::remove(path_ + "-wal");
    }
    bring_back("late", "-wal");
    fs::remove(path_ + "-shm");
    open();
    expect_replays(0, 60);
    EXPECT_EQ(connection(path_, nullptr).text("PRAGMA integrity_check"), "ok");
    close();
  }
}

TEST_F(sqlite_pair_test, a_wal_that_another_program_began_on_the_file_is_accepted) {
  open();
  complete(0, 5);
  close();
  {
    connection shell(path_, nullptr);
    shell.run("DELETE FROM records WHERE id = 1");
    save("killed");
  }
  remove_all();
  bring_back("killed", "");
  bring_back("killed", "-wal");
  open();
  complete(10, 15);
  save("killed");
  close();
  remove_all();
  bring_back("killed", "");
  bring_back("killed", "-wal");
  open();
  expect_replays(1, 5);
  expect_replays(10, 15);
}

TEST_F(sqlite_pair_test, a_wal_of_a_version_without_wal_identities_is_accepted) {
  open();
  complete(0, 5);
  close();
  connection(path_, nullptr)
      .run(
          "ALTER TABLE meta DROP COLUMN log_base; ALTER TABLE meta DROP COLUMN log_identity;"
          "PRAGMA user_version = 2");
  {
    connection older(path_, nullptr);
    older.run("UPDATE meta SET token = token + 5");
    save("killed");
  }
  remove_all();
  bring_back("killed", "");
  bring_back("killed", "-wal");
  open();
  expect_replays(0, 5);
}

TEST_F(sqlite_pair_test, a_backup_moved_over_the_file_of_a_running_store_is_a_loss) {
  open();
  complete(0, 20);
  close();
  save("old");
  open();
  complete(20, 25);
  close();
  open();
  complete(25, 30);
  fs::rename(folder_.file("old"), path_);
  const auto first = blocking_->try_claim(claim_of("0"));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, errc::store_lost);
  const auto second_try = blocking_->try_claim(claim_of("0"));
  ASSERT_FALSE(second_try);
  EXPECT_EQ(second_try.error().code, errc::store_lost);
  EXPECT_THAT(second_try.error().detail, HasSubstr("the log beside it"));
  fs::remove(path_ + "-wal");
  fs::remove(path_ + "-shm");
  // The loss is reported once more, now that the file can be opened.
  EXPECT_EQ(blocking_->try_claim(claim_of("0")).error().code, errc::store_lost);
  blocking_->vitals();
  blocking_->vitals();
  expect_replays(0, 20);
  EXPECT_EQ(blocking_->claim(claim_of("25")).kind, verdict_kind::run);
}

TEST_F(sqlite_pair_test, a_backup_copied_over_the_file_of_a_running_store_gets_no_checkpoint) {
  auto value = params();
  open();
  complete(0, 20);
  close();
  save("old");
  value.checkpoint_pages = 500;
  open(value);
  complete(20, 30);
  close();
  open(value);
  complete(30, 40);
  bring_back("old", "");  // the same file with other bytes
  // Claims may be answered until the loss is noticed, but no checkpoint writes to the file.
  // On a busy machine the thread of the checkpoints may be late, and nobody waits for it.
  std::optional<error> reply;
  const auto end = base::boot_now() + std::chrono::seconds(60);
  for (int i = 100; !reply && base::boot_now() < end; ++i) {
    const auto request = blocking_->try_claim(claim_of(std::to_string(i)));
    if (!request) reply = request.error();
  }
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, errc::store_lost) << reply->detail;
  EXPECT_EQ(blocking_->try_claim(claim_of("0")).error().code, errc::store_lost);
  close();
  EXPECT_EQ(fs::file_size(path_), fs::file_size(folder_.file("old")));
  fs::remove(path_ + "-wal");
  fs::remove(path_ + "-shm");
  open();
  expect_replays(0, 20);
}

TEST_F(sqlite_pair_test, a_wal_removed_under_a_running_store_is_a_loss) {
  open();
  complete(0, 20);
  fs::remove(path_ + "-wal");
  const auto verdict = blocking_->try_claim(claim_of("0"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_lost);
}

}  // namespace
}  // namespace onceguard::testing
