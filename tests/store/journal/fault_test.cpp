// The journal on a disk that fails, is full, or loses its power: at each act on it in turn.
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulated_disk.hpp"
#include "store/contract/acts.hpp"
#include "store/journal/journal_store.hpp"

namespace onceguard::testing {
namespace {

using journal::journal_params;
using journal::journal_store;
using sim::simulated_disk;
using fault = simulated_disk::fault;

/// What was reported to callers.
struct reports {
  std::map<std::string, claim> leased;     ///< and not settled since, as far as is known
  std::map<std::string, claim> completed;  ///< for certain
  std::map<std::string, claim> in_doubt;   ///< the last act on it has no certain outcome
  token highest = 0;
};

class journal_fault_test : public ::testing::Test {
 protected:
  result<std::unique_ptr<journal_store>> try_open() {
    journal_params params;
    params.path = "simulated";
    params.clock = &clock_;
    params.segment_size = 4'096;
    params.cache_size = 2'048;
    params.files = [this](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
      return disk_->mount();
    };
    return journal_store::open(params);
  }
  std::unique_ptr<journal_store> open() {
    auto opened = try_open();
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }

  /// Claims and completes keys one by one, and leaves every third one running.
  void work(blocking_store& caller, reports& known, int first, int end) {
    for (int i = first; i < end; ++i) {
      const auto key = "k" + std::to_string(i);
      const auto request = claim_of(key);
      const auto verdict = caller.try_claim(request);
      if (!verdict) {
        note_failure(known, key, request, verdict.error());
        continue;
      }
      ASSERT_EQ(verdict->kind, verdict_kind::run) << key;
      ASSERT_GT(verdict->lease.token, known.highest) << key;
      known.highest = verdict->lease.token;
      known.leased.emplace(key, request);
      if (i % 3 == 0) continue;
      const auto settled = caller.settles({settle_of(request, verdict->lease)}).at(0);
      if (settled) {
        known.completed.emplace(key, request);
        known.leased.erase(key);
      } else if (settled.error().effect != effect::none) {
        known.in_doubt.emplace(key, request);
        known.leased.erase(key);
      }
    }
  }
  static void note_failure(reports& known, const std::string& key, const claim& request,
                           const error& why) {
    if (why.effect == effect::none) return;
    known.in_doubt.emplace(key, request);
  }

  /// What was reported is still so.
  void expect_kept(blocking_store& caller, reports& known) {
    for (const auto& [key, request] : known.completed) {
      const auto verdict = caller.claim(claim_of(key));
      ASSERT_EQ(verdict.kind, verdict_kind::replay) << key;
      EXPECT_EQ(*verdict.answer, *answer_of()) << key;
    }
    for (const auto& [key, request] : known.leased) {
      EXPECT_EQ(caller.claim(claim_of(key)).kind, verdict_kind::busy) << key;
      EXPECT_EQ(caller.claim(repeat_of(request)).kind, verdict_kind::run) << key;
    }
    for (const auto& [key, request] : known.in_doubt) {
      // It was carried out, or not: never anything else.
      const auto verdict = caller.claim(repeat_of(request));
      EXPECT_TRUE(verdict.kind == verdict_kind::run || verdict.kind == verdict_kind::replay) << key;
    }
    const auto page = caller.list({}, {}, 1'000);
    EXPECT_TRUE(page.unreadable.empty());
    const auto later = caller.leased(claim_of("later"));
    EXPECT_GT(later.token, known.highest);
  }

  /// How many acts on a disk that never fails the work takes.
  std::uint64_t acts_of_work() {
    reports known;
    const auto store = open();
    blocking_store caller(*store);
    work(caller, known, 0, keys);
    const auto acts = disk_->acts();
    store->stop();
    return acts;
  }

  static constexpr int keys = 24;
  base::manual_clock clock_;
  std::unique_ptr<simulated_disk> disk_ = std::make_unique<simulated_disk>();
};

TEST_F(journal_fault_test, after_a_power_cut_at_any_act_everything_that_was_reported_is_kept) {
  const auto acts = acts_of_work();
  ASSERT_GT(acts, 2u * keys);
  int torn = 0;
  for (std::uint64_t step = 0; step <= acts; ++step) {
    for (std::uint32_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE("act " + std::to_string(step) + ", seed " + std::to_string(seed));
      disk_ = std::make_unique<simulated_disk>();
      disk_->fail_after(step, EIO, fault::cut);
      reports known;
      if (auto store = try_open()) {
        blocking_store caller(**store);
        ASSERT_NO_FATAL_FAILURE(work(caller, known, 0, keys));
      }
      disk_->cut_power(seed);
      const auto store = open();
      blocking_store caller(*store);
      ASSERT_NO_FATAL_FAILURE(expect_kept(caller, known));
      EXPECT_GE(caller.vitals().generation, known.completed.size() + known.leased.size());
      torn += known.in_doubt.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(torn, 0);
}

TEST_F(journal_fault_test, after_one_failure_at_any_act_the_store_goes_on_and_forgets_nothing) {
  const auto acts = acts_of_work();
  for (std::uint64_t step = 0; step <= acts; ++step) {
    SCOPED_TRACE("act " + std::to_string(step));
    disk_ = std::make_unique<simulated_disk>();
    disk_->fail_after(step, EIO, fault::once);
    reports known;
    auto opened = try_open();
    if (!opened) opened = try_open();
    ASSERT_TRUE(opened) << opened.error().detail;
    blocking_store caller(**opened);
    ASSERT_NO_FATAL_FAILURE(work(caller, known, 0, keys));
    EXPECT_GE(known.completed.size() + known.leased.size() + 1, static_cast<std::size_t>(keys));
    disk_->heal();
    ASSERT_NO_FATAL_FAILURE(expect_kept(caller, known));
    // The same after a power cut, at which nothing is under way.
    (*opened)->stop();
    opened->reset();
    disk_->cut_power(static_cast<std::uint32_t>(step));
    const auto store = open();
    blocking_store after(*store);
    for (const auto& [key, request] : known.completed) {
      EXPECT_EQ(after.claim(claim_of(key)).kind, verdict_kind::replay) << key;
    }
    EXPECT_TRUE(after.list({}, {}, 1'000).unreadable.empty());
  }
}

TEST_F(journal_fault_test, a_full_disk_refuses_what_needs_room_and_answers_the_rest) {
  const auto acts = acts_of_work();
  bool was_full = false;
  for (std::uint64_t step = 0; step < acts; ++step) {
    SCOPED_TRACE("act " + std::to_string(step));
    disk_ = std::make_unique<simulated_disk>();
    disk_->fail_after(step, ENOSPC, fault::lasts);
    reports known;
    auto opened = try_open();
    if (!opened) {
      EXPECT_EQ(opened.error().code, errc::store_full);
      continue;
    }
    blocking_store caller(**opened);
    ASSERT_NO_FATAL_FAILURE(work(caller, known, 0, keys));
    for (const auto& [key, request] : known.completed) {
      EXPECT_EQ(caller.claim(claim_of(key)).kind, verdict_kind::replay) << key;
    }
    const auto claimed = caller.try_claim(claim_of("one more"));
    if (!claimed) {
      EXPECT_EQ(claimed.error().code, errc::store_full);
      EXPECT_EQ(claimed.error().effect, effect::none);
      EXPECT_EQ(run((*opened)->check_writes(patience)).error().code, errc::store_full);
      was_full = true;
    }
    disk_->heal();
    ASSERT_NO_FATAL_FAILURE(expect_kept(caller, known));
  }
  EXPECT_TRUE(was_full);
}

TEST_F(journal_fault_test, a_failed_flush_leaves_its_claim_in_doubt_and_no_trace_of_it) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("before"));
  const auto request = claim_of("k");
  disk_->fail_after(1, EIO, fault::once);  // the write comes first
  const auto verdict = caller.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().effect, effect::unknown);
  EXPECT_THAT(verdict.error().detail, ::testing::HasSubstr("flush"));
  EXPECT_FALSE(caller.find(request.id));
  const auto other = caller.leased(claim_of("k", "another request"));
  store->stop();
  store.reset();
  disk_->cut_power(1);
  store = open();
  caller.move_to(*store);
  EXPECT_EQ(caller.seen(request.id).stored.token, other.token);
  EXPECT_EQ(caller.claim(claim_of("before")).kind, verdict_kind::replay);
}

TEST_F(journal_fault_test, what_a_killed_process_left_unflushed_is_flushed_before_it_is_answered) {
  for (std::uint32_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    disk_ = std::make_unique<simulated_disk>();
    auto store = open();
    blocking_store caller(*store);
    caller.completed(claim_of("before"));
    const auto request = claim_of("k");
    disk_->fail_after(1, EIO, fault::cut);  // written, and killed before the flush
    EXPECT_EQ(caller.try_claim(request).error().effect, effect::unknown);
    store->stop();
    store.reset();
    disk_->heal();
    store = open();
    caller.move_to(*store);
    const auto repeated = caller.claim(repeat_of(request));
    ASSERT_EQ(repeated.kind, verdict_kind::run);
    store->stop();
    store.reset();
    disk_->cut_power(seed);
    store = open();
    caller.move_to(*store);
    EXPECT_EQ(caller.seen(request.id).stored.token, repeated.lease.token);
  }
}

TEST_F(journal_fault_test, nothing_of_a_failed_group_comes_back_in_a_torn_one) {
  for (std::uint32_t seed = 0; seed < 32; ++seed) {
    SCOPED_TRACE(seed);
    disk_ = std::make_unique<simulated_disk>();
    auto store = open();
    blocking_store caller(*store);
    caller.completed(claim_of("before"));
    disk_->fail_after(1, EIO, fault::once);
    const std::vector<claim> failing{claim_of("a"), claim_of("b"), claim_of("c")};
    for (const auto& verdict : caller.claims(failing)) {
      ASSERT_FALSE(verdict);
      EXPECT_EQ(verdict.error().effect, effect::unknown);
    }
    // Five acts mend the log. The write succeeds, and its flush does not.
    disk_->fail_after(6, EIO, fault::cut);
    EXPECT_EQ(caller.try_claim(claim_of("torn")).error().effect, effect::unknown);
    store->stop();
    store.reset();
    disk_->cut_power(seed);
    store = open();
    caller.move_to(*store);
    for (const auto& each : failing) EXPECT_FALSE(caller.find(each.id)) << each.about->key;
    EXPECT_EQ(caller.claim(claim_of("before")).kind, verdict_kind::replay);
  }
}

}  // namespace
}  // namespace onceguard::testing
