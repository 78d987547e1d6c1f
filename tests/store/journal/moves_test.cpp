// What is still needed in the oldest segment moves to the end of the log, also where the segment is
// damaged, or the disk does not deliver a part of it.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "store/journal/watched_folder.hpp"
#include "store/journal/written_log.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using journal::journal_params;
using journal::journal_store;

class journal_moves_test : public ::testing::Test {
 protected:
  void SetUp() override {
    watch_.read_failure = [this](const std::string& name, std::uint64_t offset, std::size_t size) {
      const std::lock_guard locked(lock_);
      const bool failed = std::ranges::any_of(unread_, [&](const auto& each) {
        return name == journal::segment_name(each.segment) &&
               offset < each.offset + each.header.whole_size() && offset + size > each.offset;
      });
      if (failed) acts_ += 'r';
      return failed ? EIO : 0;
    };
    watch_.on_write = [this](const std::string&) {
      const std::lock_guard locked(lock_);
      acts_ += 'w';
    };
    watch_.write_failure = [this](const std::string&) { return full_ ? ENOSPC : 0; };
    open();
  }
  void open() {
    caller_.reset();
    store_.reset();
    journal_params params;
    params.path = folder_.file("journal");
    params.clock = &clock_;
    params.segment_size = 65'536;
    params.cache_size = 0;
    params.files = [this](const std::string& path) { return watch_folder(path, watch_); };
    auto opened = journal_store::open(std::move(params));
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
  }
  /// Leases of keys in the first segment, and more segments of what expires within a day.
  std::vector<claim> fill(int count) {
    std::vector<claim> running;
    for (int i = 0; i < count; ++i) running.push_back(claim_of("runs " + std::to_string(i)));
    for (const auto& each : caller_->claims(running)) EXPECT_TRUE(each);
    for (int i = 0; i < 20; ++i) {
      const auto request = claim_of("k" + std::to_string(i));
      auto done = settle_of(request, caller_->leased(request));
      done.answer = answer_of(std::string(8'000, 'x'));
      EXPECT_TRUE(caller_->settles({done}).at(0));
    }
    EXPECT_GT(files_.segments().size(), 2u);
    open();  // each file by the name that it has by now
    return running;
  }
  void expect_unreadable(const claim& request) {
    const auto verdict = caller_->try_claim(claim_of(request.about->key));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::record_unreadable);
    list_filter filter;
    filter.states = {observed_state::completed};
    const auto page = caller_->list(filter);
    const auto is_it = [&](const auto& each) { return each.id == request.id; };
    EXPECT_TRUE(std::any_of(page.unreadable.begin(), page.unreadable.end(), is_it));
  }
  void wait_until_first_segment_is_gone() {
    wait_until("the segment to go", [&] { return files_.segments().front() > 1; });
  }
  void damage_headers(const std::vector<claim>& all, std::size_t begin, std::size_t end) const {
    std::vector<journal_files::found_frame> damaged;  // all, as none is found behind the first one
    for (auto i = begin; i < end; ++i) damaged.push_back(files_.latest_frame_of(all[i].id));
    for (const auto& each : damaged) files_.flip(each, 9);
  }
  /// The disk does not deliver this record from now on.
  void lose(const claim& request) {
    const auto found = files_.latest_frame_of(request.id);
    const std::lock_guard locked(lock_);
    unread_.push_back(found);
  }
  /// It delivers all again.
  void heal() {
    const std::lock_guard locked(lock_);
    unread_.clear();
  }
  /// Reads that failed ("r") and writes ("w") since the last call, in their order.
  std::string take_acts() {
    const std::lock_guard locked(lock_);
    return std::exchange(acts_, {});
  }
  std::ptrdiff_t failed_reads() {
    const auto acts = take_acts();
    return std::ranges::count(acts, 'r');
  }
  /// What removes segments comes after each turn, with one step.
  void take_turns(int count) {
    for (int i = 0; i <= count; ++i) static_cast<void>(caller_->try_claim(claim_of("a turn")));
  }
  /// The next twenty minutes are over, and a sweep has tried all that the disk does not deliver.
  void try_again_later(int steps = 5) {
    clock_.advance(std::chrono::minutes(20));
    for (int i = 0; i < 2; ++i) {
      caller_->sweep();
      take_turns(steps);
    }
  }
  /// Until all others are at the end of the log.
  void sweep_until_moved(const claim& other) {
    caller_->sweep();
    static_cast<void>(caller_->claim(claim_of("a turn")));  // after a step of what moves records
    wait_until("the others to move", [&] { return files_.latest_frame_of(other.id).segment > 1; });
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const journal_files files_{folder_.file("journal")};
  std::mutex lock_;
  std::vector<journal_files::found_frame> unread_;
  std::string acts_;
  std::atomic<bool> full_{false};
  folder_watch watch_;
  const written_log log_;  ///< before the store, whose threads write to it to their end
  std::unique_ptr<journal_store> store_;
  std::optional<blocking_store> caller_;
};

TEST_F(journal_moves_test, a_damaged_stretch_is_looked_for_once_and_costs_its_own_records) {
  const auto running = fill(50);
  damage_headers(running, 10, 40);
  clock_.advance(day);
  caller_->sweep();
  wait_until_first_segment_is_gone();
  EXPECT_EQ(log_.count("a frame's header is damaged"), 1u);
  EXPECT_EQ(log_.count("a record that is needed is damaged"), 30u);
  for (const bool again : {false, true}) {
    if (again) open();
    for (std::size_t i = 0; i < running.size(); ++i) {
      SCOPED_TRACE(i);
      if (i >= 10 && i < 40) {
        expect_unreadable(running[i]);
      } else {
        EXPECT_EQ(caller_->seen(running[i].id).state, observed_state::unknown);
      }
    }
  }
}

TEST_F(journal_moves_test, what_the_disk_does_not_deliver_stays_and_all_else_moves) {
  const auto running = fill(50);
  lose(running[7]);
  clock_.advance(day);
  for (int i = 0; i < 3; ++i) sweep_until_moved(running.back());
  EXPECT_EQ(files_.segments().front(), 1u);
  EXPECT_EQ(caller_->claim(claim_of("new")).kind, verdict_kind::run);
  // One line for the place, and one for the record.
  EXPECT_EQ(log_.count("page-unreadable"), 2u);
  heal();
  caller_->sweep();
  wait_until_first_segment_is_gone();
  for (const auto& each : running) EXPECT_EQ(caller_->seen(each.id).state, observed_state::unknown);
}

TEST_F(journal_moves_test, what_the_disk_does_not_deliver_for_an_hour_is_unreadable) {
  const auto running = fill(50);
  lose(running[7]);
  clock_.advance(day);
  sweep_until_moved(running.back());
  for (int i = 0; i < 2; ++i) try_again_later();
  clock_.advance(std::chrono::minutes(19));
  sweep_until_moved(running.back());
  EXPECT_EQ(files_.segments().front(), 1u);
  clock_.advance(std::chrono::minutes(1));
  caller_->sweep();
  wait_until_first_segment_is_gone();
  EXPECT_EQ(log_.count("is given up"), 1u);
  for (const bool again : {false, true}) {
    if (again) open();
    expect_unreadable(running[7]);
    EXPECT_EQ(caller_->seen(running[8].id).state, observed_state::unknown);
  }
}

/// The machine was suspended, say, and its disk is not back yet.
TEST_F(journal_moves_test, two_failures_an_hour_apart_cost_no_record) {
  const auto running = fill(50);
  lose(running[7]);
  clock_.advance(day);
  for (int i = 0; i < 3; ++i) {
    sweep_until_moved(running.back());
    clock_.advance(std::chrono::hours(1));
  }
  take_turns(40);
  EXPECT_EQ(log_.count("is given up"), 0u);
  heal();
  caller_->sweep();
  wait_until_first_segment_is_gone();
  EXPECT_EQ(caller_->seen(running[7].id).state, observed_state::unknown);
}

TEST_F(journal_moves_test, what_a_caller_could_read_meanwhile_begins_its_hour_anew) {
  const auto running = fill(50);
  const auto reads = {+[](blocking_store& caller, const claim& request) {
                        const auto again = caller.claim(claim_of(request.about->key));
                        EXPECT_EQ(again.kind, verdict_kind::unknown);
                      },
                      +[](blocking_store& caller, const claim& request) {
                        EXPECT_EQ(caller.seen(request.id).state, observed_state::unknown);
                      },
                      +[](blocking_store& caller, const claim&) {
                        EXPECT_EQ(caller.list().unreadable.size(), 0u);
                      }};
  clock_.advance(day);
  for (const auto read : reads) {
    lose(running[7]);
    for (int i = 0; i < 3; ++i) try_again_later();
    heal();
    read(*caller_, running[7]);
    lose(running[7]);
    EXPECT_EQ(caller_->list().unreadable.size(), 1u);  // a failure since takes nothing back
  }
  for (int i = 0; i < 3; ++i) try_again_later();
  EXPECT_EQ(log_.count("is given up"), 0u);
  EXPECT_EQ(files_.segments().front(), 1u);
  try_again_later();
  EXPECT_EQ(log_.count("is given up"), 1u);
}

TEST_F(journal_moves_test, the_hour_is_that_of_the_record) {
  const auto running = fill(50);
  for (int i = 0; i < 20; ++i) lose(running[static_cast<std::size_t>(i)]);
  clock_.advance(day);
  EXPECT_EQ(caller_->list().unreadable.size(), 20u);  // a query finds all of them
  caller_->sweep();
  take_turns(40);  // sixteen, and the others twenty minutes later
  for (int i = 0; i < 3; ++i) try_again_later(40);
  EXPECT_EQ(log_.count("is given up"), 16u);
  heal();
  caller_->sweep();
  wait_until_first_segment_is_gone();
  EXPECT_EQ(caller_->seen(running[19].id).state, observed_state::unknown);
}

TEST_F(journal_moves_test, callers_get_their_turn_behind_each_record_that_is_given_up) {
  const auto running = fill(50);
  for (std::size_t i = 0; i < 5; ++i) lose(running[i]);
  clock_.advance(day);
  sweep_until_moved(running.back());
  for (int i = 0; i < 2; ++i) try_again_later(12);
  clock_.advance(std::chrono::minutes(20));
  take_turns(1);
  take_acts();
  caller_->sweep();
  wait_until_first_segment_is_gone();
  const auto acts = take_acts();
  EXPECT_EQ(std::ranges::count(acts, 'r'), 5) << acts;
  EXPECT_EQ(acts.find("rr"), std::string::npos) << acts;
}

TEST_F(journal_moves_test, a_sweep_meets_few_reads_that_fail) {
  const auto running = fill(50);
  for (std::size_t i = 0; i < 40; ++i) lose(running[i]);
  clock_.advance(day);
  take_acts();
  caller_->sweep();
  take_turns(60);
  EXPECT_EQ(failed_reads(), 1 + 16);  // the first one is met before the table is looked through
  caller_->sweep();
  take_turns(60);
  EXPECT_EQ(failed_reads(), 16);
}

TEST_F(journal_moves_test, an_expired_record_that_is_not_delivered_is_not_read_by_each_sweep) {
  auto running = claim_of("runs");
  running.unknown_retention = second;
  caller_->leased(running);
  open();
  lose(running);
  clock_.advance(day);
  take_acts();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caller_->sweep(), 0u);
  EXPECT_EQ(failed_reads(), 1);
  clock_.advance(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caller_->sweep(), 0u);
  EXPECT_EQ(failed_reads(), 1);
  heal();
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(caller_->sweep(), 1u);
}

TEST_F(journal_moves_test, on_a_full_disk_each_damaged_record_has_one_line) {
  const auto running = fill(50);
  damage_headers(running, 10, 40);
  clock_.advance(day);
  full_ = true;
  for (int i = 0; i < 3; ++i) {
    take_acts();
    caller_->sweep();
    take_turns(3);
    EXPECT_NE(take_acts(), "");  // it was tried
  }
  EXPECT_EQ(log_.count("a record that is needed is damaged"), 30u);
  full_ = false;
  caller_->sweep();
  wait_until_first_segment_is_gone();
  EXPECT_EQ(log_.count("a record that is needed is damaged"), 30u);
}

}  // namespace
}  // namespace onceguard::testing
