// A file that is deleted, replaced or restored from a copy under an open SQLite store.
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;
using ::testing::HasSubstr;

class sqlite_loss_test : public ::testing::Test {
 protected:
  [[nodiscard]] sqlite_params params() const {
    sqlite_params out;
    out.path = folder_.file("store.db");
    out.recreate_after = milliseconds(0);
    out.clock = &clock_;
    return out;
  }
  std::unique_ptr<sqlite_store> open() {
    auto opened = sqlite_store::open(params());
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  void remove_file() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(folder_.file(std::string("store.db") + suffix));
    }
  }

  temporary_folder folder_;
  base::manual_clock clock_;
};

TEST_F(sqlite_loss_test, a_deleted_file_is_recreated_and_grants_nothing_until_polled) {
  const auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  const auto before = caller.vitals();
  remove_file();
  const auto verdict = caller.try_claim(claim_of("k"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_lost);
  EXPECT_EQ(verdict.error().effect, effect::none);
  // Claims are refused until the caller has polled twice: the first poll returns the new identity,
  // the second shows that the caller has taken note of the new identity.
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  EXPECT_NE(caller.vitals().identity, before.identity);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  caller.vitals();
  EXPECT_GT(caller.leased(claim_of("k")).token, 0u);
}

TEST_F(sqlite_loss_test, a_complete_copy_in_place_of_the_file_keeps_the_identity) {
  const auto store = open();
  blocking_store caller(*store);
  caller.leased(claim_of("a"));
  const auto before = caller.vitals();
  const auto copy = folder_.file("copy.db");
  connection(params().path, nullptr).run(("VACUUM INTO '" + copy + "'").c_str());
  remove_file();
  std::filesystem::rename(copy, params().path);
  EXPECT_EQ(caller.try_claim(claim_of("b")).error().code, errc::store_lost);
  const auto after = caller.vitals();
  EXPECT_EQ(after.identity, before.identity);
  EXPECT_EQ(after.generation, before.generation);
  caller.vitals();
  EXPECT_EQ(caller.claim(claim_of("a")).kind, verdict_kind::busy);
}

TEST_F(sqlite_loss_test, only_claims_are_refused_until_a_replaced_file_is_polled) {
  const auto store = open();
  blocking_store caller(*store);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  remove_file();
  EXPECT_EQ(caller.try_claim(claim_of("l")).error().code, errc::store_lost);
  const auto done = caller.settle(settle_of(request, held));
  EXPECT_EQ(done.outcome, settle_outcome::incident);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  // A failed poll has reported nothing, so it does not count.
  std::filesystem::rename(params().path, folder_.file("away.db"));
  std::filesystem::create_directory(params().path);
  EXPECT_FALSE(caller.try_vitals());
  EXPECT_FALSE(caller.try_vitals());
  std::filesystem::remove(params().path);
  std::filesystem::rename(folder_.file("away.db"), params().path);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
}

TEST_F(sqlite_loss_test, a_deleted_file_is_noticed_by_a_poll_alone) {
  const auto store = open();
  blocking_store caller(*store);
  const auto before = caller.vitals();
  remove_file();
  const auto after = caller.vitals();
  EXPECT_NE(after.identity, before.identity);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  EXPECT_EQ(caller.vitals().identity, after.identity);
}

TEST_F(sqlite_loss_test, an_older_copy_in_place_of_the_file_gets_a_new_identity_and_newer_tokens) {
  auto store = open();
  blocking_store caller(*store);
  caller.leased(claim_of("a"));
  store->stop();
  store.reset();
  std::filesystem::copy_file(params().path, folder_.file("backup.db"));
  store = open();
  caller.move_to(*store);
  const auto last = caller.leased(claim_of("b"));
  const auto before = caller.vitals();
  remove_file();
  std::filesystem::copy_file(folder_.file("backup.db"), params().path);
  EXPECT_EQ(caller.try_claim(claim_of("c")).error().code, errc::store_lost);
  const auto after = caller.vitals();
  // A caller whose last poll was before the missing lease could not notice the loss by the
  // generation.
  EXPECT_NE(after.identity, before.identity);
  EXPECT_LT(after.generation, before.generation);
  caller.vitals();
  EXPECT_GT(caller.leased(claim_of("b")).token, last.token);
}

/// A file with its log and the log's index, and how they are written over the open files: the same
/// files, so that nobody sees another inode.
class older_copy {
 public:
  explicit older_copy(std::string path) : path_(std::move(path)) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::ifstream file(path_ + suffix, std::ios::binary);
      kept_[suffix].assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  void write_over() const {
    for (const auto& [suffix, bytes] : kept_) {
      std::fstream file(path_ + suffix, std::ios::binary | std::ios::in | std::ios::out);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      file.close();
      std::filesystem::resize_file(path_ + suffix, bytes.size());
    }
  }

 private:
  std::string path_;
  std::map<std::string, std::string> kept_;
};

TEST_F(sqlite_loss_test, a_copy_from_between_claim_and_settle_gets_a_new_identity) {
  const auto store = open();
  blocking_store caller(*store);
  for (const auto kind : {settle_kind::complete, settle_kind::release, settle_kind::abandon}) {
    const auto request = claim_of("k" + std::to_string(static_cast<int>(kind)));
    const auto held = caller.leased(request);
    const auto before = caller.vitals();
    const older_copy copy(params().path);
    caller.settle(settle_of(request, held, kind));
    copy.write_over();
    const auto first = caller.try_claim(request);
    EXPECT_FALSE(first) << "of the copy";
    EXPECT_EQ(caller.try_claim(claim_of("other")).error().code, errc::store_lost);
    EXPECT_NE(caller.vitals().identity, before.identity);
    caller.vitals();
    EXPECT_EQ(caller.claim(claim_of(request.about->key)).kind, verdict_kind::busy);
  }
}

TEST_F(sqlite_loss_test, a_copy_that_another_process_noticed_first_is_another_memory_here_too) {
  const auto store = open();
  const auto neighbour = open();
  blocking_store caller(*store);
  blocking_store beside(*neighbour);
  beside.completed(claim_of("n"));
  const older_copy copy(params().path);
  caller.completed(claim_of("a"));
  beside.completed(claim_of("b"));
  copy.write_over();
  EXPECT_FALSE(beside.try_claim(claim_of("c")));
  EXPECT_EQ(beside.try_claim(claim_of("c")).error().code, errc::store_lost);
  beside.vitals();
  beside.vitals();
  // More leases and later tokens than were lost.
  for (int i = 0; i < 5; ++i) beside.completed(claim_of("d" + std::to_string(i)));
  EXPECT_FALSE(caller.try_claim(claim_of("a")));
  EXPECT_EQ(caller.try_claim(claim_of("a")).error().code, errc::store_lost);
  caller.vitals();
  caller.vitals();
  EXPECT_EQ(caller.claim(claim_of("a")).kind, verdict_kind::run);
}

TEST_F(sqlite_loss_test, an_older_copy_written_over_the_open_file_gets_a_new_identity) {
  const auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("a"));
  const auto before = caller.vitals();
  const older_copy copy(params().path);
  caller.completed(claim_of("b"));
  copy.write_over();
  EXPECT_FALSE(caller.try_claim(claim_of("b")));
  EXPECT_EQ(caller.try_claim(claim_of("b")).error().code, errc::store_lost);
  EXPECT_NE(caller.vitals().identity, before.identity);
  caller.vitals();
  EXPECT_EQ(caller.claim(claim_of("a")).kind, verdict_kind::replay);
}

TEST_F(sqlite_loss_test, the_new_identity_of_an_older_copy_survives_a_kill_and_a_checkpoint) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("a"));
  store->stop();
  store.reset();
  std::filesystem::copy_file(params().path, folder_.file("backup.db"));
  store = open();
  caller.move_to(*store);
  caller.completed(claim_of("b"));
  remove_file();
  std::filesystem::copy_file(folder_.file("backup.db"), params().path);
  EXPECT_EQ(caller.try_claim(claim_of("c")).error().code, errc::store_lost);
  const auto identity = caller.vitals().identity;
  const auto counter = [](const std::string& path) {
    return connection(path, nullptr).integer("SELECT token FROM meta");
  };
  // File and write-ahead log as a kill leaves both: first before a checkpoint, then after a
  // complete one.
  for (const bool moved : {false, true}) {
    auto killed = params();
    killed.path = folder_.file(moved ? "moved.db" : "killed.db");
    std::filesystem::copy_file(params().path + "-wal", killed.path + "-wal");
    std::filesystem::copy_file(params().path, killed.path);
    if (moved) {
      connection(killed.path, nullptr).run("PRAGMA wal_checkpoint");
      std::filesystem::copy_file(params().path + "-wal", killed.path + "-wal",
                                 std::filesystem::copy_options::overwrite_existing);
    }
    const auto again = sqlite_store::open(killed);
    ASSERT_TRUE(again) << again.error().detail;
    blocking_store there(**again);
    EXPECT_EQ(there.vitals().identity, identity);
    EXPECT_GT(counter(killed.path), counter(folder_.file("backup.db")));
    EXPECT_EQ(there.claim(claim_of("a")).kind, verdict_kind::replay);
    (*again)->stop();
  }
}

TEST_F(sqlite_loss_test, a_replacement_that_is_no_database_is_an_error_until_it_is_removed) {
  const auto store = open();
  blocking_store caller(*store);
  remove_file();
  std::filesystem::create_directory(params().path);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  const auto verdict = caller.try_claim(claim_of("k"));
  ASSERT_FALSE(verdict);
  EXPECT_THAT(verdict.error().detail, HasSubstr("is a directory"));
  std::filesystem::remove(params().path);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_lost);
  caller.vitals();
  caller.vitals();
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
}

}  // namespace
}  // namespace onceguard::testing
