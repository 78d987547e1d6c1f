// What a scope may bring at a time, and that repeats don't count.
#include "engine/scope_quotas.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_fixture.hpp"
#include "store/forwarding_store.hpp"

namespace onceguard {
namespace {

using limit = scope_quotas::limit;
using std::chrono::seconds;

subject about(unsigned char scope, std::string route = "/pay") {
  subject out;
  out.scope[0] = scope;
  out.route = std::move(route);
  return out;
}

route_policy granting(std::uint32_t in_flight, std::uint32_t new_keys) {
  route_policy out;
  out.quota_in_flight = in_flight;
  out.quota_new_keys = new_keys;
  return out;
}

class quotas_of_scopes : public ::testing::Test {
 protected:
  scope_quotas counted{4};
  base::boot_clock::time_point now = base::boot_clock::time_point(seconds(1'000));
  std::vector<scope_quotas::slot> held;
  record_id last_record{};

  record_id next_record() {
    ++last_record[0];
    return last_record;
  }
  limit take(const subject& caller, const route_policy& policy) {
    auto got = counted.take(next_record(), caller, policy, now);
    wait = got.retry_after;
    if (got.held.taken()) held.push_back(std::move(got.held));
    return got.over;
  }
  /// A new key whose operation ends at once.
  limit run(const subject& caller, const route_policy& policy) {
    auto got = counted.take(next_record(), caller, policy, now);
    wait = got.retry_after;
    got.held.keep_key();
    return got.over;
  }
  milliseconds wait{0};
};

TEST_F(quotas_of_scopes, count_what_is_in_flight) {
  const auto policy = granting(2, 0);
  EXPECT_EQ(take(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
  EXPECT_EQ(wait, milliseconds(1'000));
  EXPECT_EQ(take(about(2), policy), limit::none) << "another scope";
  EXPECT_EQ(take(about(1, "/other"), policy), limit::none) << "another route";
  held.erase(held.begin());
  EXPECT_EQ(take(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
}

TEST_F(quotas_of_scopes, count_new_keys_by_the_second) {
  const auto policy = granting(0, 2);
  EXPECT_EQ(run(about(1), policy), limit::none);
  EXPECT_EQ(run(about(1), policy), limit::none);
  EXPECT_EQ(run(about(1), policy), limit::new_keys);
  EXPECT_EQ(wait, milliseconds(500)) << "half a second for one of two";
  now += milliseconds(499);
  EXPECT_EQ(run(about(1), policy), limit::new_keys);
  now += milliseconds(1);
  EXPECT_EQ(run(about(1), policy), limit::none);
  now += seconds(3'600);
  EXPECT_EQ(run(about(1), policy), limit::none);
  EXPECT_EQ(run(about(1), policy), limit::none);
  EXPECT_EQ(run(about(1), policy), limit::new_keys) << "a pause saves up a second's worth";
}

TEST_F(quotas_of_scopes, give_back_the_key_of_what_was_no_new_one) {
  const auto policy = granting(0, 1);
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_EQ(take(about(1), policy), limit::none);
    held.clear();
  }
  EXPECT_EQ(run(about(1), policy), limit::none);
  EXPECT_EQ(run(about(1), policy), limit::new_keys);
}

TEST_F(quotas_of_scopes, count_known_keys_without_refusing_them) {
  const auto policy = granting(1, 1);
  for (int known = 0; known < 3; ++known) {
    held.push_back(counted.take_known(next_record(), about(1), policy, now));
  }
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
  held.clear();
  EXPECT_EQ(take(about(1), policy), limit::none) << "they took no new key";
}

TEST_F(quotas_of_scopes, are_apart_for_policies_with_other_limits) {
  EXPECT_EQ(run(about(1), granting(0, 1)), limit::none);
  EXPECT_EQ(run(about(1), granting(0, 1)), limit::new_keys);
  EXPECT_EQ(run(about(1), granting(0, 2)), limit::none);
  EXPECT_EQ(run(about(1), granting(1, 1)), limit::none);
  EXPECT_EQ(run(about(1), granting(0, 1)), limit::new_keys) << "the first one's are still used up";
}

TEST_F(quotas_of_scopes, count_no_time_twice_for_who_looked_at_the_clock_before) {
  const auto policy = granting(0, 1);
  EXPECT_EQ(run(about(1), policy), limit::none);
  now -= seconds(1);
  EXPECT_EQ(run(about(1), policy), limit::new_keys);
  now += seconds(1);
  EXPECT_EQ(run(about(1), policy), limit::new_keys);
}

TEST_F(quotas_of_scopes, forget_the_idle_one_that_came_longest_ago) {
  const auto policy = granting(0, 1);
  for (unsigned char scope = 1; scope <= 4; ++scope) {
    EXPECT_EQ(run(about(scope), policy), limit::none);
  }
  EXPECT_EQ(run(about(1), policy), limit::new_keys) << "now 2 came longest ago";
  EXPECT_EQ(run(about(5), policy), limit::none);
  EXPECT_EQ(counted.scopes(), 4u);
  EXPECT_EQ(run(about(4), policy), limit::new_keys);
  EXPECT_EQ(run(about(2), policy), limit::none) << "it was forgotten";
}

TEST_F(quotas_of_scopes, never_forget_what_is_in_flight) {
  const auto policy = granting(1, 0);
  for (unsigned char scope = 1; scope <= 4; ++scope) {
    EXPECT_EQ(take(about(scope), policy), limit::none);
  }
  EXPECT_EQ(take(about(5), policy), limit::scopes);
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
  EXPECT_FALSE(counted.take_known(next_record(), about(5), policy, now).taken());
  held.pop_back();
  EXPECT_EQ(take(about(5), policy), limit::none);
  EXPECT_EQ(counted.scopes(), 4u);
}

TEST_F(quotas_of_scopes, are_given_back_once) {
  const auto policy = granting(1, 0);
  auto first = counted.take(next_record(), about(1), policy, now).held;
  auto moved = std::move(first);
  first.leave();  // NOLINT(bugprone-use-after-move): it has nothing any more
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
  moved.leave();
  moved.leave();
  EXPECT_EQ(take(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::in_flight);
}

TEST_F(quotas_of_scopes, know_a_repeat_of_what_has_a_slot) {
  const auto policy = granting(1, 1);
  const auto record = next_record();
  auto first = counted.take(record, about(1), policy, now).held;
  auto twin = counted.take(record, about(1), policy, now);
  EXPECT_EQ(twin.over, limit::none);
  first.leave();
  EXPECT_EQ(counted.take(record, about(1), policy, now).over, limit::none) << "the twin has one";
  twin.held.leave();
  held.push_back(counted.take(next_record(), about(1), policy, now).held);
  EXPECT_EQ(counted.take(record, about(1), policy, now).over, limit::in_flight) << "nobody has one";
}

TEST_F(quotas_of_scopes, may_end_before_their_slots) {
  auto short_lived = std::make_unique<scope_quotas>();
  auto slot = short_lived->take(next_record(), about(1), granting(1, 1), now).held;
  short_lived.reset();
  EXPECT_TRUE(slot.taken());
  slot.leave();
}

// ---- in the engine

std::uint64_t refused_by(const engine& counting) { return counting.counters().over_quota.load(); }

TEST_F(engine_over_faults, a_scope_over_its_quota_brings_nothing_new_and_gets_its_repeats) {
  policy.quota_in_flight = 1;
  counted_work slow;
  begin(slow);
  counted_work other;
  const auto claims = store.made(store_call::claim);
  EXPECT_EQ(execute(other, op("new")).kind, outcome_kind::over_quota);
  EXPECT_EQ(store.made(store_call::claim), claims) << "nothing was claimed for it";
  EXPECT_EQ(execute(other).kind, outcome_kind::busy) << "a repeat of what runs";
  EXPECT_EQ(refused_by(*tested), 1u);
  EXPECT_EQ(let_go().kind, outcome_kind::ran);
  EXPECT_EQ(execute(other, op("new")).kind, outcome_kind::ran);
  EXPECT_EQ(execute(other, op("newer")).kind, outcome_kind::ran);
  EXPECT_EQ(other.runs, 2);
}

TEST_F(engine_over_faults, repeats_take_no_new_key_and_are_never_refused) {
  policy.quota_new_keys = 1;
  counted_work w;
  const auto begun = base::boot_now();
  EXPECT_EQ(execute(w, op("a")).kind, outcome_kind::ran);
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(execute(w, op("a")).kind, outcome_kind::replay);
    EXPECT_EQ(execute(w, op("a", 2)).kind, outcome_kind::mismatch);
  }
  auto refused = execute(w, op("b"));
  int seconds_gone = 0;  // of a busy machine: each grants another key
  while (refused.kind == outcome_kind::ran && seconds_gone < 5) {
    refused = execute(w, op("b" + std::to_string(++seconds_gone)));
  }
  EXPECT_LE(std::chrono::seconds(seconds_gone), base::boot_now() - begun) << "a key too many";
  EXPECT_EQ(refused.kind, outcome_kind::over_quota);
  EXPECT_GT(refused.retry_after.count(), 0);
  EXPECT_LE(refused.retry_after.count(), 1'000);
  EXPECT_EQ(w.runs, 1 + seconds_gone);
}

TEST_F(engine_over_faults, what_was_released_is_new_and_what_failed_is_not) {
  policy.quota_in_flight = 1;
  counted_work releasing;
  releasing.ends = settle_kind::release;
  EXPECT_EQ(execute(releasing, op("released")).kind, outcome_kind::ran);
  counted_work failing;
  failing.ends = settle_kind::fail;
  EXPECT_EQ(execute(failing, op("failed")).kind, outcome_kind::ran);
  counted_work slow;
  begin(slow);
  counted_work w;
  EXPECT_EQ(execute(w, op("released")).kind, outcome_kind::over_quota);
  EXPECT_EQ(execute(w, op("failed")).kind, outcome_kind::backoff);
  clock.advance(milliseconds(60'000));
  EXPECT_EQ(execute(w, op("failed")).kind, outcome_kind::ran);
  let_go();
}

TEST_F(engine_over_faults, a_key_that_runs_again_is_no_new_one) {
  policy.quota_new_keys = 2;
  counted_work failing;
  failing.ends = settle_kind::fail;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(execute(failing, op("failing")).kind, outcome_kind::ran);
    clock.advance(milliseconds(60'000));
  }
  counted_work w;
  EXPECT_EQ(execute(w, op("second")).kind, outcome_kind::ran);
}

TEST_F(engine_over_faults, a_handle_that_is_settled_has_no_place) {
  policy.quota_in_flight = 1;
  auto held = run(io, tested->claim(io, op("settled")));
  ASSERT_TRUE(held.lease);
  EXPECT_EQ(run(io, held.lease->settle({})).kind, outcome_kind::ran);
  counted_work w;
  EXPECT_EQ(execute(w, op("other")).kind, outcome_kind::ran);
}

TEST_F(engine_over_faults, a_lease_that_is_dropped_gives_its_place_back) {
  policy.quota_in_flight = 1;
  {
    const auto dropped = run(io, tested->claim(io, op("dropped")));
    ASSERT_TRUE(dropped.lease);
    counted_work w;
    EXPECT_EQ(execute(w, op("other")).kind, outcome_kind::over_quota);
  }
  counted_work w;
  EXPECT_EQ(execute(w, op("other")).kind, outcome_kind::ran);
}

TEST_F(engine_over_faults, a_repeat_is_known_for_one_before_its_twin_is_in_the_store) {
  policy.quota_in_flight = 1;
  store.fail(store_call::claim, store_fault::delay_before, 1);
  counted_work slow;
  begin_soon(slow);
  until([&] { return store.made(store_call::claim) == 1; });
  counted_work repeat;
  std::optional<outcome> second;
  asio::co_spawn(io, operate(*tested, io, op(), repeat),
                 [&](std::exception_ptr, outcome got) { second = std::move(got); });
  until([&] { return second.has_value() || repeat.runs == 1; });
  EXPECT_FALSE(second && second->kind == outcome_kind::over_quota);
  counted_work w;
  EXPECT_EQ(execute(w, op("new")).kind, outcome_kind::over_quota);
  store.let_go();
  gate.cancel();
  until([&] { return first_.has_value() && second.has_value(); });
}

/// Whose settles throw.
class throwing_store final : public forwarding_store {
 public:
  explicit throwing_store(store& inner) : inner_(inner) {}
  asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                       milliseconds timeout) override {
    if (std::exchange(throws, false)) throw std::bad_alloc();
    co_return co_await inner_.settle(std::move(batch), timeout);
  }
  bool throws = true;

 private:
  [[nodiscard]] result<store*> target() const override { return &inner_; }
  store& inner_;
};

TEST_F(engine_over_faults, a_settle_that_throws_gives_its_place_back) {
  policy.quota_in_flight = 1;
  throwing_store throwing(inner);
  tested = std::make_unique<engine>(throwing, params, budget);
  ASSERT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  EXPECT_THROW(execute(w, op("first")), std::bad_alloc);
  EXPECT_EQ(execute(w, op("second")).kind, outcome_kind::ran);
  EXPECT_EQ(tested->gauges().leases, 0u);
  tested.reset();
}

TEST_F(engine_over_faults, a_lease_that_outlives_its_engine_has_no_place_any_more) {
  policy.quota_in_flight = 1;
  const auto held = run(io, tested->claim(io, op("held")));
  ASSERT_TRUE(held.lease);
  tested.reset();
}

TEST_F(engine_over_faults, who_is_over_quota_runs_nothing_unguarded_while_the_store_is_away) {
  policy.quota_in_flight = 1;
  policy.store_failure = store_failure_rule::open;
  counted_work slow;
  begin(slow);
  store.fail(store_call::find, store_fault::before);
  store.fail(store_call::claim, store_fault::before);
  counted_work w;
  EXPECT_EQ(execute(w, op("new")).kind, outcome_kind::store_failed);
  EXPECT_EQ(w.unguarded, 0);
  store.heal_all();
  let_go();
}

TEST_F(engine_over_faults, who_waits_for_its_twin_has_no_place) {
  policy.quota_in_flight = 2;
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(60'000);
  counted_work slow;
  begin(slow);
  counted_work twin;
  std::optional<outcome> waited;
  asio::co_spawn(io, operate(*tested, io, op(), twin),
                 [&](std::exception_ptr, outcome got) { waited = std::move(got); });
  until([&] { return tested->gauges().waiters == 1; });
  counted_work w;
  EXPECT_EQ(execute(w, op("new")).kind, outcome_kind::ran);
  let_go();
  until([&] { return waited.has_value(); });
  EXPECT_EQ(waited->kind, outcome_kind::replay);
  EXPECT_EQ(twin.runs, 0);
}

}  // namespace
}  // namespace onceguard
