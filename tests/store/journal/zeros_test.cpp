// A journal writes zeros behind a small group, over which the next groups are written.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulated_disk.hpp"
#include "store/contract/acts.hpp"
#include "store/journal/journal_store.hpp"
#include "store/journal/watched_folder.hpp"

namespace onceguard::testing {
namespace {

constexpr std::uint64_t segment_size = std::uint64_t{1} << 20;
constexpr std::uint64_t zeros = std::uint64_t{512} << 10;

class journal_zeros_test : public ::testing::Test {
 protected:
  std::unique_ptr<journal::journal_store> open() {
    journal::journal_params params;
    params.path = "simulated";
    params.clock = &clock_;
    params.segment_size = segment_size;
    params.files = [this](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
      return std::make_unique<watched_folder>(disk_.mount(), watch_);
    };
    auto opened = journal::journal_store::open(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  /// The sizes of what is written for so many keys, one after the other.
  std::vector<std::uint64_t> writes_of(store& records, const std::string& name, int keys) {
    watch_.clear();
    blocking_store caller(records);
    for (int i = 0; i < keys; ++i) caller.completed(claim_of(name + std::to_string(i)));
    return watch_.writes();
  }
  static auto with_zeros(const std::vector<std::uint64_t>& writes) {
    return std::ranges::count_if(writes, [](auto size) { return size >= zeros; });
  }

  base::manual_clock clock_;
  sim::simulated_disk disk_;
  folder_watch watch_;
};

TEST_F(journal_zeros_test, they_are_written_with_one_small_group_of_hundreds) {
  const auto store = open();
  const auto writes = writes_of(*store, "k", 200);
  ASSERT_EQ(writes.size(), 400u);
  EXPECT_EQ(with_zeros(writes), 1);
  EXPECT_GE(writes.front(), zeros);
  // The log itself is as long as without.
  for (const auto& each : store->numbers()) {
    if (each.name == "onceguard_store_size_bytes") {
      EXPECT_LT(each.value, 400 * 1'024);
    }
  }
}

TEST_F(journal_zeros_test, they_end_with_the_segment) {
  const auto store = open();
  const auto writes = writes_of(*store, "k", 2'500);
  const auto before = disk_.size();
  EXPECT_GE(with_zeros(writes), 2);
  // Segments and the reserve: a write behind the end of what is reserved would make more of them.
  EXPECT_EQ(before % segment_size, 0u);
}

TEST_F(journal_zeros_test, a_large_group_writes_none) {
  const auto store = open();
  blocking_store caller(*store);
  const auto request = claim_of("k");
  auto settle = settle_of(request, caller.leased(request));
  settle.answer = answer_of(std::string(800'000, 'x'));
  watch_.clear();
  EXPECT_EQ(caller.settle(settle).outcome, settle_outcome::done);
  ASSERT_EQ(watch_.writes().size(), 1u);
  EXPECT_LT(watch_.writes().front(), 800'000 + zeros);
}

TEST_F(journal_zeros_test, a_failed_write_and_a_start_forget_them) {
  auto store = open();
  writes_of(*store, "before", 1);
  {
    blocking_store caller(*store);
    disk_.fail_after(0, EIO, sim::simulated_disk::fault::once);
    EXPECT_FALSE(caller.try_claim(claim_of("fails")));
  }
  // What is cut off is reserved anew, and not written any more.
  EXPECT_EQ(with_zeros(writes_of(*store, "after", 2)), 1);
  store.reset();
  store = open();
  EXPECT_EQ(with_zeros(writes_of(*store, "again", 2)), 1);
  blocking_store caller(*store);
  EXPECT_EQ(caller.claim(claim_of("before0")).kind, verdict_kind::replay);
}

TEST_F(journal_zeros_test, whatever_a_power_cut_leaves_of_them_is_no_part_of_the_log) {
  int keys = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    auto store = open();
    {
      blocking_store caller(*store);
      for (int i = 0; i < keys; ++i) {
        const auto name = "k" + std::to_string(i);
        ASSERT_EQ(caller.claim(claim_of(name)).kind, verdict_kind::replay) << name << ", " << seed;
      }
      for (int more = 0; more < 3; ++more) caller.completed(claim_of("k" + std::to_string(keys++)));
      // The cut comes while a group is written, with zeros or over them.
      disk_.fail_after(seed % 2, EIO, sim::simulated_disk::fault::cut);
      EXPECT_FALSE(caller.try_claim(claim_of("cut off " + std::to_string(seed))));
    }
    store.reset();
    disk_.cut_power(seed);
  }
}

TEST_F(journal_zeros_test, a_disk_that_copies_what_is_written_over_gets_none) {
  disk_.copy_on_write();
  const auto store = open();
  writes_of(*store, "first", 1);
  disk_.limit(disk_.size());  // what was reserved has room, and a copy of it has none
  EXPECT_EQ(with_zeros(writes_of(*store, "k", 50)), 0);
}

}  // namespace
}  // namespace onceguard::testing
