// What a policy says about a library call: for how long, how often, and when it is over.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/testing.hpp>

#include "base/clock.hpp"
#include "support/waiting.hpp"

namespace onceguard {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class guard_policy : public ::testing::Test {
 protected:
  testing::store_in_hand records;
  route_policy policy;
  const request charge{"tenant-1", "key-1", "EUR 20"};
  std::atomic<int> runs{0};

  guard open() {
    auto opened = guard::open(records.open());
    EXPECT_TRUE(opened.has_value()) << opened.error().detail;
    return std::move(*opened);
  }
  /// Of another process, which has nothing in its memory.
  execution<std::string> again() {
    auto other = open();
    return other.execute(charge, policy, [&] { return std::to_string(++runs); });
  }
};

TEST_F(guard_policy, says_for_how_long_an_answer_is_kept) {
  policy.retention = 2h;
  EXPECT_EQ(again()->value, "1");
  records.advance(2h - 1min);
  EXPECT_EQ(again()->value, "1");
  records.advance(1min);
  EXPECT_EQ(again()->value, "2");
}

TEST_F(guard_policy, says_how_long_work_that_failed_backs_off) {
  policy.backoff = 5'000ms;
  policy.backoff_max = 7'000ms;
  auto guard = open();
  const auto later = []() -> std::string { throw try_later("the bank is closed"); };
  for (const auto pause : {5'000ms, 7'000ms}) {
    const auto begun = base::boot_now();
    EXPECT_THROW(static_cast<void>(guard.execute(charge, policy, later)), try_later);
    const auto refused = again();
    const auto passed = base::boot_now() - begun;
    ASSERT_FALSE(refused);
    EXPECT_LE(refused.error().retry_after, pause);
    EXPECT_GT(refused.error().retry_after, pause - passed - 10ms);
    records.advance(pause);
  }
  EXPECT_EQ(again()->value, "1");
}

TEST_F(guard_policy, lets_work_that_throws_fail) {
  policy.exception = exception_rule::fail;
  policy.backoff = 60'000ms;
  auto guard = open();
  const auto breaks = []() -> std::string { throw std::range_error("x"); };
  EXPECT_THROW(static_cast<void>(guard.execute(charge, policy, breaks)), std::range_error);
  const auto refused = again();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, refusal_kind::backoff);
  records.advance(policy.backoff);
  EXPECT_EQ(again()->value, "1");
}

TEST_F(guard_policy, that_keeps_no_answer_is_refused) {
  for (const auto nothing : {0ms, -1ms}) {
    policy.retention = nothing;
    const auto got = again();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, refusal_kind::invalid_request);
    EXPECT_THAT(got.error().detail, HasSubstr("retention"));
  }
  EXPECT_EQ(runs, 0) << "each repeat would run";
}

TEST_F(guard_policy, renews_a_lease_after_a_renewal_that_failed) {
  policy.lease = 3'000ms;
  policy.unknown = unknown_policy::rerun;
  auto guard = open();
  bool kept = false;
  // A busy machine may stand still for longer than a lease allows, but not each time.
  for (int attempt = 0; !kept && attempt < 3; ++attempt) {
    const request order{"tenant-1", "key-" + std::to_string(attempt), "EUR 20"};
    bool may_go_on = false;
    const auto got = guard.execute(order, policy, [&](running& run) {
      const auto begun = base::boot_now();
      records.set_reachable(false);
      // The first renewal is due after a third of the lease.
      testing::wait_until("a renewal that failed",
                          [&] { return base::boot_now() > begun + 1'500ms; });
      records.set_reachable(true);
      testing::wait_until("more time than the lease",
                          [&] { return base::boot_now() > begun + 3'500ms; });
      may_go_on = run.may_go_on() && !run.lost().stop_requested();
      return std::string("first");
    });
    kept = got && may_go_on;
  }
  EXPECT_TRUE(kept);
}

TEST_F(guard_policy, tells_work_that_the_time_of_its_lease_is_over) {
  policy.lease = 2'000ms;
  auto guard = open();
  const auto got = guard.execute(charge, policy, [&](running& run) {
    records.set_reachable(false);
    const auto lost = run.lost();
    testing::wait_until("the end of the lease", [&] { return lost.stop_requested(); });
    EXPECT_FALSE(run.may_go_on()) << "and another attempt may run";
    records.set_reachable(true);
    return std::string("first");
  });
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->value, "first") << "no other one took it over";
}

TEST_F(guard_policy, may_keep_an_answer_for_ever) {
  policy.retention = milliseconds::max();
  auto guard = open();
  const auto work = [&] { return std::to_string(++runs); };
  EXPECT_EQ(guard.execute(charge, policy, work)->value, "1");
  EXPECT_EQ(guard.execute(charge, policy, work)->value, "1");
  records.advance(std::chrono::hours(24 * 365));
  EXPECT_EQ(again()->value, "1");
}

constexpr milliseconds route_policy::*policy_durations[] = {
    &route_policy::backoff,           &route_policy::backoff_max, &route_policy::lease,
    &route_policy::retention,         &route_policy::wait,        &route_policy::upstream_timeout,
    &route_policy::unknown_retention,
};

TEST_F(guard_policy, with_the_largest_durations_lets_work_run_once) {
  auto guard = open();
  for (const auto member : policy_durations) {
    for (const auto length : {milliseconds::max() - 1ms, milliseconds::max()}) {
      for (const auto rule : {on_busy_rule::reject, on_busy_rule::wait}) {
        route_policy longest;
        longest.*member = length;
        longest.on_busy = rule;
        const request order{"tenant-1", "key-" + std::to_string(++runs)};
        std::atomic<int> done{0};
        const auto work = [&] { return std::to_string(++done); };
        EXPECT_EQ(guard.execute(order, longest, work)->value, "1");
        EXPECT_EQ(open().execute(order, longest, work)->value, "1");
      }
    }
  }
}

TEST_F(guard_policy, with_the_longest_lease_keeps_its_key) {
  auto guard = open();
  policy.lease = policy.unknown_retention = milliseconds::max();
  const auto got = guard.execute(charge, policy, [&](running& run) {
    records.advance(std::chrono::hours(24 * 365));
    const auto twin = again();
    EXPECT_EQ(twin.error().kind, refusal_kind::busy);
    EXPECT_TRUE(run.may_go_on());
    return std::string("first");
  });
  EXPECT_EQ(got->value, "first");
  EXPECT_EQ(runs, 0);
}

TEST_F(guard_policy, waits_for_ever_if_it_says_so) {
  auto guard = open();
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds::max();
  auto held = guard.claim(charge, policy);
  ASSERT_TRUE(held.lease);
  std::atomic<bool> over{false};
  std::string twin;
  std::thread waiter([&] {
    twin = guard.execute(charge, policy, [&] { return std::to_string(++runs); })->value;
    over = true;
  });
  testing::wait_until("the twin to wait", [&] { return guard.engine().gauges().waiters == 1; });
  EXPECT_FALSE(over);
  static_cast<void>(guard.settle(std::move(*held.lease),
                                 terms_of_result(codec<std::string>::encode("first"), policy)));
  waiter.join();
  EXPECT_EQ(twin, "first");
  EXPECT_EQ(runs, 0);
}

TEST_F(guard_policy, that_keeps_a_part_of_an_answer_is_refused_and_not_ignored) {
  for (const auto member : {&route_policy::redact, &route_policy::pick}) {
    route_policy parts;
    (parts.*member).pointers = {"/card/number"};
    {
      auto guard = open();
      const auto got = guard.execute(charge, parts, [&] { return std::to_string(++runs); });
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().kind, refusal_kind::invalid_request);
      EXPECT_THAT(got.error().detail, HasSubstr("pick and redact are for HTTP"));
    }
    guard_params params;
    params.policy = parts;
    const auto opened = guard::open(records.open(), std::move(params));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::invalid_argument);
  }
  EXPECT_EQ(runs, 0);
}

TEST_F(guard_policy, that_has_a_negative_duration_is_refused) {
  auto guard = open();
  for (const auto member : policy_durations) {
    for (const auto length : {-1ms, milliseconds::min()}) {
      route_policy wrong;
      wrong.*member = length;
      EXPECT_NE(fault_of_durations(wrong), "");
      const auto got = guard.execute(charge, wrong, [&] { return std::to_string(++runs); });
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().kind, refusal_kind::invalid_request);
    }
  }
  EXPECT_EQ(runs, 0);
}

TEST_F(guard_policy, of_its_engine_is_refused_where_it_is_no_duration) {
  constexpr milliseconds engine_params::*members[] = {
      &engine_params::settle_wait, &engine_params::sweep_interval, &engine_params::twin_poll,
      &engine_params::loss_quiet, &engine_params::longest_retention};
  for (const auto member : members) {
    guard_params params;
    params.engine.*member = -1ms;
    EXPECT_EQ(guard::open(records.open(), params).error().code, errc::invalid_argument);
    params.engine.*member = milliseconds::max();
    auto longest = guard::open(records.open(), params);
    ASSERT_TRUE(longest) << longest.error().detail;
    const request order{"tenant-1", "key-" + std::to_string(++runs)};
    EXPECT_TRUE(longest->execute(order, [] { return std::string("done"); }));
  }
  guard_params params;
  params.store_timeout = -1ms;
  EXPECT_EQ(guard::open(records.open(), params).error().code, errc::invalid_argument);
  params.store_timeout = milliseconds::max();
  EXPECT_TRUE(guard::open(records.open(), params)->execute({"tenant-1", "key"}, [] {
    return std::string("done");
  }));
}

}  // namespace
}  // namespace onceguard
