// A journal on a full volume, and how much room it takes: on the disk, in memory, of open files.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulated_disk.hpp"
#include "store/contract/acts.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "store/journal/watched_folder.hpp"
#include "store/journal/written_log.hpp"
#include "support/small_disk.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using journal::journal_params;
using journal::journal_store;

double number_of(const store& records, const std::string& name) {
  for (const auto& each : records.numbers()) {
    if (each.name == name) return each.value;
  }
  throw std::logic_error("there is no " + name);
}

class journal_room_test : public ::testing::Test {
 protected:
  std::unique_ptr<journal_store> open() {
    journal_params params;
    params.path = "simulated";
    params.clock = &clock_;
    params.segment_size = segment_size_;
    params.files = [this](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
      return disk_.mount();
    };
    auto opened = journal_store::open(std::move(params));
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  /// Completes keys until there is no room for one more.
  static void fill(blocking_store& caller, const std::string& name, std::size_t size = 4) {
    for (int i = 0; i < 10'000; ++i) {
      const auto request = claim_of(name + std::to_string(i));
      const auto claimed = caller.try_claim(request);
      if (!claimed) {
        EXPECT_EQ(claimed.error().code, errc::store_full);
        EXPECT_EQ(claimed.error().effect, effect::none);
        return;
      }
      auto done = settle_of(request, claimed->lease);
      done.answer = answer_of(std::string(size, 'x'));
      static_cast<void>(caller.settles({done}));
    }
    throw std::runtime_error("it is never full");
  }
  static void expect_room_again(blocking_store& caller, const std::string& name) {
    wait_until("room for a claim", [&] {
      caller.sweep();
      const auto claimed = caller.try_claim(claim_of("new " + name));
      return claimed && claimed->kind == verdict_kind::run;
    });
  }

  std::uint64_t segment_size_ = 16'384;
  base::manual_clock clock_;
  sim::simulated_disk disk_;
};

TEST_F(journal_room_test, a_full_disk_has_room_again_once_its_records_have_expired) {
  for (const bool opened_anew : {false, true}) {
    SCOPED_TRACE(opened_anew);
    const std::string name = opened_anew ? "again" : "k";
    auto store = open();
    blocking_store caller(*store);
    const auto running = claim_of(name + " runs");
    caller.leased(running);
    disk_.limit(10 * 16'384);
    fill(caller, name);
    EXPECT_EQ(caller.claim(claim_of(name + "0")).kind, verdict_kind::replay);
    if (opened_anew) {
      store->stop();
      store.reset();
      // What the cut of the last segment has given back is taken by somebody else.
      disk_.limit(0);
      store = open();
      caller.move_to(*store);
      EXPECT_EQ(caller.try_claim(claim_of("no room")).error().code, errc::store_full);
    }
    clock_.advance(day);
    disk_.limit(10 * 16'384);
    if (opened_anew) disk_.limit(disk_.size());  // only what is removed makes room
    expect_room_again(caller, name);
    // What lives on was moved, and is as it was.
    EXPECT_EQ(caller.seen(running.id).state, observed_state::unknown);
    EXPECT_EQ(caller.claim(claim_of(name + "0")).kind, verdict_kind::run);
    disk_.limit(~std::uint64_t{0});
    clock_.advance(day);
  }
}

TEST_F(journal_room_test, a_journal_of_one_segment_has_room_again_too) {
  segment_size_ = 65'536;
  auto store = open();
  blocking_store caller(*store);
  const auto running = claim_of("runs");
  caller.leased(running);
  disk_.limit(2 * 65'536 + 16'384);
  fill(caller, "k", 500);
  EXPECT_EQ(number_of(*store, "onceguard_store_segments"), 1);
  clock_.advance(day);
  expect_room_again(caller, "k");
  EXPECT_EQ(caller.seen(running.id).state, observed_state::unknown);
}

TEST_F(journal_room_test, the_segment_behind_a_group_that_failed_knows_where_the_former_one_ends) {
  segment_size_ = 65'536;
  auto store = open();
  blocking_store caller(*store);
  const auto running = claim_of("runs");
  const auto held = caller.leased(running);
  disk_.limit(2 * 65'536 + 16'384);
  fill(caller, "k", 500);
  disk_.fail_after(1, EIO, sim::simulated_disk::fault::once);  // not the write, but its flush
  const auto done = caller.settles({settle_of(running, held)});
  ASSERT_TRUE(!done.front() && done.front().error().effect == effect::unknown);
  clock_.advance(day);
  expect_room_again(caller, "k");
  store->stop();
  store.reset();
  store = open();
  caller.move_to(*store);
  EXPECT_EQ(caller.seen(running.id).state, observed_state::unknown);
}

TEST_F(journal_room_test, what_runs_when_the_disk_is_full_is_settled) {
  for (const std::uint64_t size : {16'384u, 65'536u}) {
    SCOPED_TRACE(size);
    segment_size_ = size;
    disk_.limit(~std::uint64_t{0});
    auto store = open();
    blocking_store caller(*store);
    std::vector<claim> running;
    std::vector<settlement> settles;
    for (int i = 0; i < 5; ++i) {
      running.push_back(claim_of(std::to_string(size) + " runs " + std::to_string(i)));
      settles.push_back(settle_of(running.back(), caller.leased(running.back())));
    }
    disk_.limit(disk_.size() + size / 2);
    fill(caller, std::to_string(size) + " k", 100);
    for (std::size_t i = 0; i < running.size(); ++i) {
      EXPECT_EQ(caller.settle(settles[i]).outcome, settle_outcome::done);
      EXPECT_EQ(caller.claim(running[i]).kind, verdict_kind::replay);
    }
    EXPECT_EQ(caller.try_claim(claim_of("no room")).error().code, errc::store_full);
  }
}

TEST_F(journal_room_test, a_full_disk_that_copies_what_is_written_over_is_opened) {
  const auto running = claim_of("runs");
  settlement done;
  {
    auto store = open();
    blocking_store caller(*store);
    done = settle_of(running, caller.leased(running));
    for (int i = 0; i < 40; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  }
  disk_.copy_on_write();
  disk_.limit(disk_.size());
  auto store = open();
  blocking_store caller(*store);
  EXPECT_EQ(caller.claim(claim_of("k0")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.settle(done).outcome, settle_outcome::done);
  clock_.advance(day);
  expect_room_again(caller, "k");
}

TEST_F(journal_room_test, a_full_disk_is_reported_now_and_then) {
  const written_log log;
  auto store = open();
  blocking_store caller(*store);
  disk_.limit(disk_.size());
  fill(caller, "k");
  const auto refused = [&] {
    const auto claimed = caller.try_claim(claim_of("no room"));
    return !claimed && claimed.error().code == errc::store_full;
  };
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(refused());
  EXPECT_EQ(log.count("transaction-failed"), 1u);
  clock_.advance(std::chrono::minutes(5));
  EXPECT_TRUE(refused());
  EXPECT_EQ(log.count("transaction-failed"), 2u);
  EXPECT_EQ(log.count("30 times since the last such line"), 1u);
}

TEST_F(journal_room_test, on_a_full_disk_less_than_half_of_the_log_is_worth_its_removal) {
  auto store = open();
  blocking_store caller(*store);
  disk_.limit(12 * 16'384);
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("old" + std::to_string(i)));
  clock_.advance(day / 2);
  fill(caller, "k", 3'000);
  clock_.advance(day / 2);  // the first ones expire, and the others don't
  caller.sweep();
  expect_room_again(caller, "k");
  EXPECT_EQ(caller.claim(claim_of("k0")).kind, verdict_kind::replay);
}

TEST_F(journal_room_test, what_can_not_be_known_of_its_files_is_no_loss) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  disk_.hide(EIO);
  const auto verdict = caller.try_claim(claim_of("another"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_unreachable);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_EQ(caller.try_vitals().error().code, errc::store_unreachable);
  disk_.hide(0);
  EXPECT_EQ(caller.claim(claim_of("another")).kind, verdict_kind::run);
  EXPECT_TRUE(bool(caller.try_vitals()));
}

TEST_F(journal_room_test, the_number_of_segments_grows_slower_than_the_log) {
  segment_size_ = 4'096;
  auto store = open();
  blocking_store caller(*store);
  for (int i = 0; i < 1'000; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  const auto size = number_of(*store, "onceguard_store_size_bytes");
  EXPECT_GT(size, 250 * 4'096);
  // Of segments as small as that, claims leave a quarter free: there would be more than 300.
  EXPECT_LT(number_of(*store, "onceguard_store_segments"), 280);
}

TEST(journal_volume_test, a_full_volume_has_room_again_once_its_records_have_expired) {
  const temporary_folder folder;
  const small_disk disk(folder.file("disk"), "4m");
  ASSERT_TRUE(disk.mounted());
  base::manual_clock clock;
  journal_params params;
  params.path = folder.file("disk") + "/journal";
  params.clock = &clock;
  params.segment_size = 256 * 1'024;
  auto opened = journal_store::open(std::move(params));
  ASSERT_TRUE(opened) << opened.error().detail;
  blocking_store caller(**opened);
  const auto running = claim_of("runs");
  caller.leased(running);
  const auto full = [&] {
    for (int i = 0;; ++i) {
      const auto request = claim_of("k" + std::to_string(i));
      const auto claimed = caller.try_claim(request);
      if (!claimed) return claimed.error();
      auto done = settle_of(request, claimed->lease);
      done.answer = answer_of(std::string(20'000, 'x'));
      static_cast<void>(caller.settles({done}));
    }
  }();
  EXPECT_EQ(full.code, errc::store_full);
  EXPECT_EQ(full.effect, effect::none);
  clock.advance(day);
  wait_until("room for a claim", [&] {
    caller.sweep();
    return bool(caller.try_claim(claim_of("new")));
  });
  EXPECT_EQ(caller.seen(running.id).state, observed_state::unknown);
}

/// A journal in a folder that calls back.
class journal_watch_test : public ::testing::Test {
 protected:
  blocking_store& open() {
    journal_params params;
    params.path = folder_.file("journal");
    params.clock = &clock_;
    params.segment_size = segment_size_;
    params.cache_size = 0;
    params.files = [this](const std::string& path) { return watch_folder(path, watch_); };
    auto opened = journal_store::open(std::move(params));
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
    return *caller_;
  }

  temporary_folder folder_;
  std::uint64_t segment_size_ = 4'096;
  base::manual_clock clock_;
  folder_watch watch_;
  std::unique_ptr<journal_store> store_;
  std::optional<blocking_store> caller_;
};

TEST_F(journal_watch_test, an_older_segment_that_is_removed_under_the_owner_is_a_loss) {
  auto& caller = open();
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  EXPECT_TRUE(bool(caller.try_vitals()));
  const journal_files files(folder_.file("journal"));
  std::filesystem::remove(files.path(files.segments()[1]));
  EXPECT_EQ(caller.try_vitals().error().code, errc::store_lost);
  EXPECT_EQ(caller.try_claim(claim_of("another")).error().code, errc::store_lost);
}

TEST_F(journal_watch_test, a_start_does_not_read_what_is_reserved) {
  segment_size_ = 16 << 20;
  open().completed(claim_of("k"));
  caller_.reset();
  store_.reset();
  watch_.clear();
  open();
  EXPECT_GT(watch_.at(journal::segment_name(1)), 0u);
  EXPECT_LT(watch_.at(journal::segment_name(1)), 8u << 20);
}

TEST_F(journal_watch_test, numbers_wait_for_no_disk) {
  std::atomic<int> answered{0};
  std::atomic<int> acts{0};
  std::atomic<int> in_vain{0};
  const auto act = [&](const std::string&) {
    if (answered == 0 || in_vain > 0) return;
    ++acts;
    // If they wait for this act, it would have to end first.
    try {
      wait_until("numbers", [&, before = int{answered}] { return answered > before + 1; });
    } catch (const std::exception&) {
      ++in_vain;
    }
  };
  watch_.on_act = act;
  watch_.on_write = act;
  auto& caller = open();
  std::atomic<bool> ended{false};
  std::thread asking([&] {
    while (!ended) {
      static_cast<void>(store_->numbers());
      ++answered;
      ::poll(nullptr, 0, 1);  // the lock is free for others, too
    }
  });
  wait_until("the first numbers", [&] { return answered > 0; });
  auto running = claim_of("runs");
  running.unknown_retention = second;
  caller.leased(running);
  for (int i = 0; i < 20; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  clock_.advance(day);
  caller.sweep();
  const journal_files files(folder_.file("journal"));
  wait_until("the segments to go", [&] { return files.segments().front() > 3; });
  store_->stop();
  ended = true;
  asking.join();
  EXPECT_GT(acts, 60);
  EXPECT_EQ(in_vain, 0);
}

TEST_F(journal_watch_test, answers_that_wait_together_do_not_become_one_huge_group) {
  constexpr int keys = 8;
  auto& caller = open();
  std::vector<settlement> settles;
  for (int i = 0; i < keys; ++i) {
    const auto request = claim_of("k" + std::to_string(i));
    settles.push_back(settle_of(request, caller.leased(request)));
    settles.back().answer = answer_of(std::string(3 << 20, 'x'));
  }
  caller_.reset();
  store_.reset();
  std::atomic<bool> holds{false};
  watch_.on_write = [&](const std::string&) {
    // What follows is queued while the first group is written.
    if (!holds.exchange(false)) return;
    wait_until("the settles to be queued",
               [&] { return number_of(*store_, "onceguard_store_queue_calls") >= keys; });
  };
  open();
  holds = true;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { blocking_store(*store_).leased(claim_of("first")); });
  wait_until("the first group", [&] { return !holds; });
  for (const auto& each : settles) {
    threads.emplace_back([this, &each] {
      EXPECT_EQ(blocking_store(*store_).settle(each).outcome, settle_outcome::done);
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_LT(watch_.largest_write(), 12u << 20);
}

}  // namespace
}  // namespace onceguard::testing
