// The lock file, through which processes that share one SQLite file agree.
#include <chrono>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/wal_reader.hpp"
#include "support/forked_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::lock_file;
using sqlite::session;
using sqlite::session_use;
using sqlite::sqlite_params;
using sqlite::sqlite_store;
using ::testing::HasSubstr;

class sqlite_neighbours_test : public ::testing::Test {
 protected:
  [[nodiscard]] sqlite_params params() const {
    sqlite_params out;
    out.path = path_;
    out.clock = &clock_;
    out.timeout = milliseconds(50);
    return out;
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const std::string path_ = folder_.file("store.db");
};

TEST_F(sqlite_neighbours_test, another_boot_id_is_refused_while_a_store_has_the_file_open) {
  auto store = sqlite_store::open(params()).value();
  base::manual_clock other_clock;
  other_clock.reboot("boot-2");
  auto parameters = params();
  parameters.clock = &other_clock;
  const auto refused = sqlite_store::open(parameters);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_unreachable);
  EXPECT_THAT(refused.error().detail, HasSubstr("another boot id"));
  EXPECT_THAT(refused.error().detail, HasSubstr("/proc/sys/kernel/random/boot_id"));
  // The attempt does not hold up the open store, and another store with the same boot id may open
  // the file.
  blocking_store caller(*store);
  EXPECT_GT(caller.leased(claim_of("k")).token, 0u);
  EXPECT_TRUE(sqlite_store::open(params()));
  store->stop();
  store.reset();
  EXPECT_TRUE(sqlite_store::open(parameters));
}

TEST_F(sqlite_neighbours_test, a_second_boot_id_is_refused_in_either_order) {
  for (const auto* const first : {"boot-1", "boot-2"}) {
    lock_file one(path_);
    lock_file other(path_);
    const std::string_view second_id = first == std::string_view("boot-1") ? "boot-2" : "boot-1";
    EXPECT_EQ(one.enter(first), lock_file::entry::entered);
    EXPECT_EQ(other.enter(second_id), lock_file::entry::another_boot);
    EXPECT_EQ(other.enter(first), lock_file::entry::entered);
  }
}

/// A program of the user's forks, and is killed. What it forked executes nothing, and lives on.
TEST_F(sqlite_neighbours_test, what_is_forked_keeps_no_lock) {
  std::optional<lock_file> one(path_);
  EXPECT_EQ(one->enter("boot-1"), lock_file::entry::entered);
  ASSERT_TRUE(one->try_turn());
  one->declare_durable(7);
  const forked_process forked([&] {
    one->withdraw();
    one->end_turn();
  });
  lock_file other(path_);
  EXPECT_TRUE(other.is_declared_durable(7));
  EXPECT_FALSE(other.try_turn());
  one.reset();
  EXPECT_FALSE(other.is_declared_durable(7));
  EXPECT_TRUE(other.try_turn());
  EXPECT_TRUE(other.keep_all_out());
}

TEST_F(sqlite_neighbours_test, exclusive_use_needs_an_unused_lock_file_and_keeps_others_out) {
  lock_file one(path_);
  lock_file other(path_);
  EXPECT_EQ(one.enter("boot-1"), lock_file::entry::entered);
  EXPECT_FALSE(other.keep_all_out());
  {
    lock_file alone(folder_.file("other.db"));
    EXPECT_TRUE(alone.keep_all_out());
    lock_file late(folder_.file("other.db"));
    EXPECT_EQ(late.enter("boot-1"), lock_file::entry::closed_to_all);
    EXPECT_FALSE(late.keep_all_out());
    auto value = params();
    value.path = folder_.file("other.db");
    const auto refused = sqlite_store::open(value);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::store_unreachable);
    EXPECT_FALSE(std::filesystem::exists(value.path));
  }
  lock_file late(folder_.file("other.db"));
  EXPECT_EQ(late.enter("boot-1"), lock_file::entry::entered);
}

TEST_F(sqlite_neighbours_test, only_one_checkpoint_runs_at_a_time_even_within_a_process) {
  lock_file one(path_);
  lock_file other(path_);
  {
    const sqlite::checkpoint_turn mine(one);
    EXPECT_TRUE(mine.has_turn());
    const sqlite::checkpoint_turn too(other);
    EXPECT_FALSE(too.has_turn());
  }
  EXPECT_TRUE(other.try_turn());
}

TEST_F(sqlite_neighbours_test, a_deleted_lock_file_is_recreated) {
  lock_file one(path_);
  EXPECT_EQ(one.enter("boot-1"), lock_file::entry::entered);
  std::filesystem::remove(path_ + "-lock");
  lock_file other(path_);
  EXPECT_TRUE(one.try_turn());
  EXPECT_FALSE(other.try_turn());
  EXPECT_FALSE(other.keep_all_out());  // `one` also uses the new lock file
}

TEST_F(sqlite_neighbours_test, the_lock_file_has_the_permissions_of_the_database) {
  sqlite_store::open(params()).value()->stop();
  struct stat about {};
  ASSERT_EQ(::stat((path_ + "-lock").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

/// Two sessions on one file, as two processes would have.
class sqlite_checkpoint_lock_test : public sqlite_neighbours_test {
 protected:
  sqlite_checkpoint_lock_test()
      : params_(with_faults(params())),
        one_(session::open(params_, session_use::write).value()),
        other_(session::open(params_, session_use::write).value()) {}
  static sqlite_params with_faults(sqlite_params out) {
    out.vfs = fault_vfs::name;
    return out;
  }
  void write(session& session) {
    ASSERT_TRUE(session.try_begin());
    session.on().run("INSERT INTO boots SELECT NULL, hex(randomblob(16)), 0, 0, 0, 0");
    session.commit();
  }
  /// Does SQLite report the whole write-ahead log as checkpointed? The question itself starts no
  /// checkpoint.
  [[nodiscard]] bool moved() { return sqlite::all_moved(one_->on()); }

  fault_vfs faults_;
  sqlite_params params_;
  std::unique_ptr<session> one_, other_;
};

TEST_F(sqlite_checkpoint_lock_test, a_checkpoint_is_visible_to_every_session) {
  EXPECT_FALSE(moved());
  other_->wal().checkpoint();
  EXPECT_TRUE(moved());
  EXPECT_TRUE(sqlite::all_moved(other_->on()));
  write(*other_);
  EXPECT_FALSE(moved());
  EXPECT_FALSE(sqlite::all_moved(other_->on()));
}

TEST_F(sqlite_checkpoint_lock_test,
       no_checkpoint_runs_while_another_process_has_the_checkpoint_lock) {
  lock_file third(path_);
  ASSERT_TRUE(third.try_turn());
  one_->wal().checkpoint();
  EXPECT_FALSE(moved());
  third.end_turn();
  one_->wal().checkpoint();
  EXPECT_TRUE(moved());
}

TEST_F(sqlite_checkpoint_lock_test, a_checkpoint_of_another_session_is_not_repeated) {
  write(*one_);
  const auto before = faults_.moves();
  other_->wal().checkpoint();
  EXPECT_EQ(faults_.moves(), before + 1);
  ASSERT_TRUE(moved());
  one_->wal().checkpoint();
  other_->wal().checkpoint();
  EXPECT_EQ(faults_.moves(), before + 1);
  write(*other_);
  one_->wal().checkpoint();
  EXPECT_EQ(faults_.moves(), before + 2);
}

TEST_F(sqlite_checkpoint_lock_test, a_restarted_wal_stores_the_token_counter_of_the_file_below) {
  const auto base = [](session& client) {
    return client.on().integer("SELECT log_base FROM meta");
  };
  const auto counter = [](session& client) {
    return client.on().integer("SELECT token FROM meta");
  };
  const auto count = [&](session& other) {
    ASSERT_TRUE(other.try_begin());
    auto now = other.metadata().read_meta();
    ++now.last_token;
    other.metadata().write_meta(now);
    other.commit();
  };
  const auto first = base(*one_);
  count(*one_);
  EXPECT_EQ(base(*one_), first);
  const auto before = counter(*one_);
  other_->wal().checkpoint();
  count(*one_);  // `one_` ran no checkpoint, and notices the restart all the same
  EXPECT_EQ(base(*other_), before);
  count(*other_);
  EXPECT_EQ(base(*other_), before);
}

}  // namespace
}  // namespace onceguard::testing
