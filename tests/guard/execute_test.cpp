// guard::execute: work runs once, and every repeat gets the first result.
#include <atomic>
#include <cstdlib>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/json.hpp>
#include <onceguard/testing.hpp>

#include "base/clock.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

guard open_guard(const std::string& url = "memory:") {
  auto opened = guard::open(url);
  EXPECT_TRUE(opened.has_value()) << opened.error().detail;
  return std::move(*opened);
}

const request charge{"tenant-1", "key-1", "EUR 20"};

TEST(guard_execute, repeat_gets_the_first_result) {
  auto guard = open_guard();
  int runs = 0;
  const auto work = [&] { return "run " + std::to_string(++runs); };
  const auto first = guard.execute(charge, work);
  const auto second = guard.execute(charge, work);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->value, "run 1");
  EXPECT_FALSE(first->replayed);
  EXPECT_EQ(second->value, "run 1");
  EXPECT_TRUE(second->replayed);
  EXPECT_EQ(runs, 1);
}

TEST(guard_execute, result_outlives_the_guard_on_sqlite) {
  const testing::temporary_folder folder;
  guard_params patient;  // a busy disk is no store that is away
  patient.store_timeout = 60'000ms;
  int runs = 0;
  const auto work = [&] { return "run " + std::to_string(++runs); };
  for (int round = 0; round < 2; ++round) {
    auto opened = guard::open("sqlite:" + folder.file("guard.db"), patient);
    ASSERT_TRUE(opened) << opened.error().detail;
    const auto got = opened->execute(charge, work);
    ASSERT_TRUE(got) << got.error().detail;
    EXPECT_EQ(got->value, "run 1");
  }
  EXPECT_EQ(runs, 1);
}

struct receipt {
  int amount = 0;
  std::string currency;
};
void to_json(nlohmann::json& out, const receipt& r) { out = {{"a", r.amount}, {"c", r.currency}}; }
void from_json(const nlohmann::json& json, receipt& r) {
  json.at("a").get_to(r.amount);
  json.at("c").get_to(r.currency);
}

TEST(guard_execute, typed_result_goes_through_json) {
  auto guard = open_guard();
  const auto work = [] { return receipt{20, "EUR"}; };
  ASSERT_TRUE(guard.execute(charge, work));
  const auto again = guard.execute(charge, [] { return receipt{}; });
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->value.amount, 20);
  EXPECT_EQ(again->value.currency, "EUR");
}

TEST(guard_execute, stored_answer_of_another_type_is_refused_and_nothing_runs) {
  auto guard = open_guard();
  ASSERT_TRUE(guard.execute(charge, [] { return std::string("no JSON"); }));
  int runs = 0;
  const auto got = guard.execute(charge, [&] { return receipt{++runs, ""}; });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, refusal_kind::answer_unreadable);
  EXPECT_FALSE(got.error().retryable());
  EXPECT_EQ(runs, 0);
}

TEST(guard_execute, another_fingerprint_is_a_mismatch) {
  auto guard = open_guard();
  ASSERT_TRUE(guard.execute(charge, [] { return std::string(); }));
  const auto got =
      guard.execute({"tenant-1", "key-1", "EUR 30"}, [] { return std::string("never"); });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, refusal_kind::mismatch);
}

TEST(guard_execute, bad_request_says_what_is_wrong) {
  auto guard = open_guard();
  for (const auto& key : {std::string(), std::string(256, 'k')}) {
    const auto got = guard.execute({"t", key}, [] { return std::string("never"); });
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, refusal_kind::invalid_request);
    EXPECT_THAT(got.error().detail, HasSubstr("1 to 255 bytes"));
  }
}

TEST(guard_execute, exception_of_the_work_is_rethrown_and_the_outcome_is_unknown) {
  auto guard = open_guard();
  const auto breaks = [&]() -> std::string { throw std::range_error("the card reader broke"); };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, breaks)), std::range_error);
  const auto again = guard.execute(charge, [] { return std::string("never"); });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, refusal_kind::unknown);
  EXPECT_FALSE(again.error().retryable());
}

TEST(guard_execute, work_that_did_nothing_frees_the_key) {
  auto guard = open_guard();
  const auto refuses = []() -> std::string { throw not_done("no such account"); };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, refuses)), not_done);
  const auto again = guard.execute(
      charge, [](running& run) { return "attempt " + std::to_string(run.attempt()); });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->value, "attempt 2");
}

TEST(guard_execute, work_that_is_to_be_tried_later_backs_off) {
  auto guard = open_guard();
  route_policy policy;
  policy.backoff = 60'000ms;
  const auto later = []() -> std::string { throw try_later("the bank is closed"); };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, policy, later)), try_later);
  const auto again = guard.execute(charge, policy, [] { return std::string("too early"); });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, refusal_kind::backoff);
  EXPECT_GT(again.error().retry_after, 0ms);
  EXPECT_TRUE(again.error().retryable());
}

TEST(guard_execute, policy_says_what_an_exception_means) {
  auto guard = open_guard();
  route_policy policy;
  policy.exception = exception_rule::release;
  const auto breaks = []() -> std::string { throw std::range_error("x"); };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, policy, breaks)), std::range_error);
  EXPECT_TRUE(guard.execute(charge, policy, [] { return std::string("again"); }));
}

TEST(guard_execute, sixteen_threads_with_one_key_run_once) {
  auto guard = open_guard();
  route_policy policy;
  policy.on_busy = on_busy_rule::wait;
  policy.wait = 60'000ms;
  std::atomic<int> runs{0};
  std::atomic<int> right{0};
  std::latch begin(16);
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      const auto got = guard.execute(charge, policy, [&] {
        ++runs;
        testing::wait_until("a twin that waits",
                            [&] { return guard.engine().gauges().waiters > 0; });
        return std::string("done");
      });
      if (got && got->value == "done") ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(right, 16);
}

TEST(guard_execute, busy_key_is_refused_at_once_unless_the_policy_waits) {
  auto guard = open_guard();
  auto held = guard.claim(charge, guard.policy());
  ASSERT_TRUE(held.lease);
  const auto got = guard.execute(charge, [] { return std::string("never"); });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, refusal_kind::busy);
  settle_terms nothing;
  nothing.kind = settle_kind::release;
  EXPECT_EQ(guard.settle(std::move(*held.lease), nothing).kind, outcome_kind::ran);
  EXPECT_TRUE(guard.execute(charge, [] { return std::string("now"); }));
}

TEST(guard_execute, execute_inside_work_with_another_key) {
  auto guard = open_guard();
  const auto got = guard.execute(charge, [&](running& run) {
    const auto inner =
        guard.execute({"bank", run.key_for("transfer")}, [] { return std::string("inner"); });
    return inner ? inner->value + "+outer" : inner.error().detail;
  });
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "inner+outer");
}

TEST(guard_execute, key_for_another_service_is_that_of_its_purpose_in_each_attempt) {
  auto guard = open_guard();
  std::vector<std::string> keys;
  const auto work = [&](running& run) -> std::string {
    keys = {run.key_for("debit"), run.key_for("credit")};
    throw not_done("the bank is closed");
  };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, work)), not_done);
  const auto first = keys;
  EXPECT_THROW(static_cast<void>(guard.execute(charge, work)), not_done);
  EXPECT_EQ(keys, first);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_EQ(keys[0].size(), 64u);
}

TEST(guard_execute, work_that_outlives_its_guard_is_in_doubt_and_not_free) {
  testing::store_in_hand records;
  auto first = guard::open(records.open());
  ASSERT_TRUE(first);
  auto held = first->claim(charge, first->policy());
  ASSERT_TRUE(held.lease);
  { const auto ending = std::move(*first); }
  EXPECT_FALSE(held.lease->may_go_on());
  auto second = guard::open(records.open());
  ASSERT_TRUE(second);
  const auto got = second->execute(charge, [] { return std::string("again"); });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, refusal_kind::unknown);
  EXPECT_THROW(static_cast<void>(second->settle(std::move(*held.lease), {})), std::logic_error);
}

TEST(guard_execute, lease_is_renewed_while_the_work_runs) {
  auto guard = open_guard();
  route_policy policy;
  policy.lease = 3'000ms;
  policy.unknown = unknown_policy::rerun;
  bool kept = false;
  // A busy machine may stand still for longer than a lease allows, but not each time.
  for (int attempt = 0; !kept && attempt < 3; ++attempt) {
    const request order{"tenant-1", "key-" + std::to_string(attempt), "EUR 20"};
    std::thread rival;
    std::atomic<int> rivals_run{0};
    bool may_go_on = false;
    const auto got = guard.execute(order, policy, [&](running& run) {
      const auto grown = base::boot_now() + 3'500ms;
      testing::wait_until("more time than the lease", [&] { return base::boot_now() > grown; });
      rival = std::thread([&] {
        static_cast<void>(guard.execute(order, policy, [&] {
          ++rivals_run;
          return std::string();
        }));
      });
      rival.join();
      may_go_on = run.may_go_on() && !run.lost().stop_requested();
      return std::string("first");
    });
    EXPECT_FALSE(may_go_on && rivals_run > 0) << "it ran beside its holder";
    kept = got && may_go_on && rivals_run == 0;
  }
  EXPECT_TRUE(kept);
}

TEST(guard_execute, work_learns_that_its_lease_is_lost) {
  testing::store_in_hand records;
  auto opened = guard::open(records.open());
  ASSERT_TRUE(opened);
  auto& guard = *opened;
  route_policy policy;
  policy.lease = 2'000ms;
  policy.unknown = unknown_policy::rerun;
  const auto got = guard.execute(charge, policy, [&](running& run) {
    records.advance(3'000ms);
    const auto other = guard.execute(charge, policy, [] { return std::string("second"); });
    EXPECT_TRUE(other);
    const auto lost = run.lost();
    testing::wait_until("the loss of the lease", [&] { return lost.stop_requested(); });
    EXPECT_FALSE(run.may_go_on());
    return std::string("first");
  });
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->value, "second") << "the stored answer counts, not that of the lost lease";
}

TEST(guard_execute, probe_asks_the_application) {
  guard_params params;
  params.policy.unknown = unknown_policy::probe;
  params.probe = [](const subject& about, const lease&) {
    auto known = std::make_shared<answer>();
    known->status = 200;
    known->body = "found for " + about.key;
    return effect_report{effect_status::done, known, {}};
  };
  auto opened = guard::open("memory:", params);
  ASSERT_TRUE(opened);
  const auto breaks = []() -> std::string { throw std::range_error("x"); };
  EXPECT_THROW(static_cast<void>(opened->execute(charge, breaks)), std::range_error);
  const auto got = opened->execute(charge, [] { return std::string("never"); });
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->value, "found for key-1");
  EXPECT_TRUE(got->replayed);
}

TEST(guard_execute, unreachable_store_runs_nothing) {
  testing::store_in_hand records;
  auto opened = guard::open(records.open());
  ASSERT_TRUE(opened);
  records.set_reachable(false);
  int runs = 0;
  const auto work = [&] { return std::to_string(++runs); };
  const auto got = opened->execute(charge, work);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, refusal_kind::store_failed);
  EXPECT_TRUE(got.error().retryable());
  EXPECT_EQ(runs, 0);
  records.set_reachable(true);
  EXPECT_TRUE(opened->execute(charge, work));
}

TEST(guard_execute, guard_does_not_end_before_its_answers_are_stored) {
  testing::store_in_hand records;
  guard_params params;
  params.engine.settle_wait = 2'000ms;
  auto opened = guard::open(records.open(), params);
  ASSERT_TRUE(opened);
  const auto work = [&] {
    records.set_reachable(false);
    return std::string("ran");
  };
  EXPECT_EQ(opened->execute(charge, work).error().kind, refusal_kind::unrecorded);
  auto ended = std::async(std::launch::async, [own = std::move(*opened)]() mutable {
    const auto ending = std::move(own);
  });
  EXPECT_EQ(ended.wait_for(50ms), std::future_status::timeout) << "the store is still away";
  records.set_reachable(true);
  ended.get();
  auto next = guard::open(records.open());
  ASSERT_TRUE(next);
  const auto got = next->execute(charge, [] { return std::string("ran again"); });
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "ran");
}

TEST(guard_testing, situations_of_a_store) {
  testing::store_in_hand records;
  auto opened = guard::open(records.open());
  ASSERT_TRUE(opened);
  const auto work = [] { return std::string("ran"); };
  records.make_busy({"t", "busy"}, 5'000ms);
  EXPECT_EQ(opened->execute({"t", "busy"}, work).error().kind, refusal_kind::busy);
  records.advance(6'000ms);
  EXPECT_EQ(opened->execute({"t", "busy"}, work).error().kind, refusal_kind::unknown);
  records.make_unknown({"t", "unknown"});
  EXPECT_EQ(opened->execute({"t", "unknown"}, work).error().kind, refusal_kind::unknown);
  EXPECT_THROW(records.make_unknown({"t", "unknown"}), std::logic_error);
}

TEST(guard_open, guard_of_static_storage_ends_with_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto program = [] {
    static auto guard = open_guard();
    static auto held = guard.claim(charge, guard.policy());  // which the guard still has to settle
    std::exit(held.lease && guard.execute({"t", "k"}, [] { return std::string(); }) ? 0 : 1);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "");
}

TEST(guard_open, url_of_a_store_that_is_not_linked) {
  const auto opened = guard::open("oracle://host/db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::invalid_argument);
  EXPECT_THAT(opened.error().detail, HasSubstr("memory:"));
}

TEST(guard_open, policy_that_a_library_call_can_not_keep_is_refused) {
  guard_params params;
  params.policy.lease = 10ms;
  const auto opened = guard::open("memory:", params);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().detail, HasSubstr("lease"));
}

TEST(guard_misuse, answer_without_a_status_throws_and_leaves_the_outcome_unknown) {
  auto guard = open_guard();
  EXPECT_THROW(static_cast<void>(guard.execute(charge, [] { return answer(); })),
               std::invalid_argument);
  EXPECT_EQ(guard.execute(charge, [] { return answer(); }).error().kind, refusal_kind::unknown);
}

}  // namespace
}  // namespace onceguard
