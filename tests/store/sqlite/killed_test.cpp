// What a killed process has left in the kernel's memory alone: the next process answers by it, so
// it goes to the disk first. People may look at it where that fails.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/backup.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

namespace fs = std::filesystem;
using sqlite::lock_file;
using sqlite::session;
using sqlite::session_use;
using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_killed_test : public ::testing::Test {
 protected:
  /// The answer of "k" is written, and its flush fails.
  sqlite_killed_test() {
    store_ = open(params("store.db"));
    blocking_store caller(*store_);
    caller.completed(claim_of("before"));
    const auto request = claim_of("k");
    const auto held = caller.leased(request);
    faults_.flushes(flush_fault::fail);
    auto end = settle_of(request, held);
    end.answer = answer_of(std::string(200'000, 'a'));
    const auto reply = caller.settles({end})[0];
    if (reply || reply.error().effect != effect::unknown) throw std::runtime_error("was flushed");
    faults_.flushes(flush_fault::none);
    for (const char* suffix : {"", "-wal"}) {
      fs::copy_file(folder_.file("store.db") + suffix, folder_.file("killed.db") + suffix);
    }
  }
  ~sqlite_killed_test() override { faults_.flushes(flush_fault::none); }

  [[nodiscard]] static std::unique_ptr<sqlite_store> open(const sqlite_params& sqlite) {
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] sqlite_params params(const std::string& name = "killed.db") const {
    sqlite_params out;
    out.path = folder_.file(name);
    out.clock = &clock_;
    out.vfs = fault_vfs::name;
    return out;
  }
  [[nodiscard]] sqlite_params for_people() const {
    auto out = params();
    out.for_people = true;
    return out;
  }
  [[nodiscard]] static verdict_kind repeated(sqlite_store& store, const std::string& key = "k") {
    return blocking_store(store).claim(claim_of(key)).kind;
  }
  /// Nothing was copied into the file itself meanwhile.
  [[nodiscard]] std::unique_ptr<sqlite_store> after_power_cut() const {
    fs::copy_file(folder_.file("killed.db"), folder_.file("cut.db"));
    std::ofstream(folder_.file("cut.db-wal"), std::ios::binary) << faults_.log_disk.bytes();
    return open(params("cut.db"));
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  fault_vfs faults_;
  std::unique_ptr<sqlite_store> store_;
};

TEST_F(sqlite_killed_test, a_flush_that_failed_left_nothing_on_the_disk) {
  EXPECT_EQ(repeated(*after_power_cut()), verdict_kind::busy);
}

TEST_F(sqlite_killed_test, what_is_answered_survives_the_power_cut) {
  const auto next = open(params());
  EXPECT_EQ(repeated(*next), verdict_kind::replay);
  const auto last = after_power_cut();
  EXPECT_EQ(repeated(*last), verdict_kind::replay);
  EXPECT_EQ(repeated(*last, "before"), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, what_is_written_behind_it_survives_the_power_cut) {
  const auto next = open(params());
  blocking_store(*next).completed(claim_of("next"));
  const auto last = after_power_cut();
  EXPECT_EQ(repeated(*last), verdict_kind::replay);
  EXPECT_EQ(repeated(*last, "next"), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, a_person_who_looks_vouches_for_nothing) {
  const auto looking = open(for_people());
  EXPECT_TRUE(blocking_store(*looking).find(claim_of("k").id));
  const auto next = open(params());
  EXPECT_EQ(repeated(*next), verdict_kind::replay);
  EXPECT_EQ(repeated(*after_power_cut()), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, what_a_person_does_survives_the_power_cut) {
  const auto looking = open(for_people());
  blocking_store person(*looking);
  EXPECT_TRUE(person.find(claim_of("k").id));
  person.completed(claim_of("next"));
  const auto last = after_power_cut();
  EXPECT_EQ(repeated(*last), verdict_kind::replay);
  EXPECT_EQ(repeated(*last, "next"), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, nothing_is_answered_while_the_flush_fails) {
  faults_.flushes(flush_fault::fail);
  const auto refused = sqlite_store::open(params());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_unreachable);
  EXPECT_THAT(refused.error().detail, ::testing::HasSubstr("could not be flushed"));
  faults_.flushes(flush_fault::none);
  EXPECT_EQ(repeated(*open(params())), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, people_look_and_copy_while_the_flush_fails) {
  faults_.flushes(flush_fault::fail);
  {
    const auto looking = open(for_people());
    blocking_store person(*looking);
    EXPECT_TRUE(person.find(claim_of("k").id));
    EXPECT_EQ(person.counted(observed_state::completed), 2u);
    const auto act = person.try_claim(claim_of("next"));
    ASSERT_FALSE(act);
    EXPECT_EQ(act.error().code, errc::store_unreachable);
  }
  EXPECT_TRUE(fs::exists(folder_.file("killed.db-wal")));
  const auto copied = sqlite::back_up(params(), folder_.file("copy.db"));
  EXPECT_TRUE(copied) << copied.error().detail;
  faults_.flushes(flush_fault::none);
  EXPECT_EQ(repeated(*open(params("copy.db"))), verdict_kind::replay);
}

/// The removal of the log is not on the disk yet.
TEST_F(sqlite_killed_test, what_a_look_moves_into_the_file_as_it_ends_is_in_the_log) {
  static_cast<void>(open(for_people()));
  EXPECT_FALSE(fs::exists(folder_.file("killed.db-wal")));
  EXPECT_EQ(repeated(*after_power_cut()), verdict_kind::replay);
}

/// Where a file system copies what is written over, that needs room.
TEST_F(sqlite_killed_test, on_a_full_disk_the_reserve_makes_the_room) {
  const auto reserve = folder_.file("killed.db-lock");
  const auto value = params();
  std::ofstream(reserve) << std::string(4'096, 'r');
  faults_.full_while_there_is(reserve);
  {
    const auto opened = session::open(value, session_use::read);
    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_EQ(fs::file_size(reserve), 0u);
    faults_.full_while_there_is("");
    EXPECT_EQ(repeated(*after_power_cut()), verdict_kind::replay);
  }
}

TEST_F(sqlite_killed_test, on_a_full_disk_without_a_reserve_nothing_is_answered) {
  faults_.full(true);
  const auto value = params();
  const auto refused = session::open(value, session_use::read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_full);
  EXPECT_EQ(refused.error().effect, effect::none);
  faults_.full(false);
  EXPECT_EQ(repeated(*open(params())), verdict_kind::replay);
}

TEST_F(sqlite_killed_test, what_an_open_store_answers_by_is_not_flushed_again) {
  const auto first = open(params());
  EXPECT_EQ(repeated(*first), verdict_kind::replay);
  const auto before = faults_.flushed();
  const auto second = open(params());
  EXPECT_TRUE(blocking_store(*second).find(claim_of("k").id));
  EXPECT_EQ(faults_.flushed(), before);
}

TEST_F(sqlite_killed_test, a_store_that_was_closed_vouches_for_nothing) {
  auto kept = params();
  kept.keep_log_below = 1 << 20;  // the log stays where it is
  open(kept)->stop();
  const auto before = faults_.flushed();
  open(kept)->stop();
  EXPECT_GT(faults_.flushed(), before);
}

TEST_F(sqlite_killed_test, a_log_is_durable_by_its_index_and_while_one_says_so) {
  lock_file mine(folder_.file("store.db"));
  lock_file other(folder_.file("store.db"));
  EXPECT_FALSE(other.is_declared_durable(7));
  mine.declare_durable(7);
  EXPECT_TRUE(other.is_declared_durable(7));
  EXPECT_FALSE(other.is_declared_durable(8));
  mine.withdraw();
  EXPECT_FALSE(other.is_declared_durable(7));
}

}  // namespace
}  // namespace onceguard::testing
