// Retention, the sweep and the clocks, on every store.
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using retention_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, retention_contract, ::testing::ValuesIn(engines), engine_name);

/// For stores that see a step of the wall clock by another clock at every call.
using two_clocks_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, two_clocks_contract,
                         ::testing::ValuesIn(engines_that(&engine_under_test::two_clocks)),
                         engine_name);

/// For stores that remove records only in the sweep.
using sweep_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, sweep_contract,
                         ::testing::ValuesIn(engines_that(&engine_under_test::sweeps)),
                         engine_name);

TEST_P(retention_contract, retention_runs_from_the_settle_and_a_later_claim_is_a_new_operation) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  advance(lease_length);
  caller_.settle(settle_of(request, held));
  advance(day - second);
  EXPECT_EQ(caller_.claim(claim_of("k")).retention_left, second);
  advance(second);
  EXPECT_FALSE(caller_.find(request.id));
  EXPECT_EQ(caller_.counted(observed_state::completed), 0u);
  EXPECT_TRUE(caller_.list().records.empty());
  const auto next = caller_.leased(claim_of("k", "other"));
  EXPECT_GT(next.token, held.token);
}

TEST_P(retention_contract, a_stale_settle_says_what_stands_where_its_record_was) {
  auto request = claim_of("k");
  request.unknown_retention = day;
  const auto held = caller_.leased(request);
  advance(day + 2 * lease_length);
  auto given_back = settle_of(request, held, settle_kind::release);
  given_back.token = 0;
  EXPECT_EQ(caller_.settle(given_back).outcome, settle_outcome::done);
  auto late = settle_of(request, held);
  late.by_application = true;
  const auto reply = caller_.settle(late);
  EXPECT_EQ(reply.outcome, settle_outcome::stale);
  EXPECT_EQ(reply.state, observed_state::released);
}

TEST_P(sweep_contract, an_answer_of_an_earlier_life_is_not_kept_after_a_later_one) {
  const auto first = claim_of("k");
  const auto held = caller_.leased(first);
  resolution freed;
  freed.id = first.id;
  freed.force = true;
  EXPECT_EQ(caller_.resolve(freed).outcome, resolve_outcome::done);
  const auto second_life = claim_of("k");
  caller_.settle(settle_of(second_life, caller_.leased(second_life)));
  advance(2 * day);
  EXPECT_EQ(caller_.settle(settle_of(first, held)).outcome, settle_outcome::stale);
  EXPECT_FALSE(caller_.find(first.id));
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_P(retention_contract, the_largest_retention_is_for_ever) {
  const auto request = claim_of("k");
  auto change = settle_of(request, caller_.leased(request));
  change.retention = milliseconds::max();
  caller_.settle(change);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
  advance(1'000 * day);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_P(retention_contract, unsettled_records_without_an_unknown_retention_never_expire) {
  auto started = claim_of("started");
  started.into_started = true;
  caller_.leased(started);
  caller_.leased(claim_of("unknown"));
  advance(1'000 * day);
  EXPECT_EQ(caller_.sweep(), 0u);
  EXPECT_EQ(caller_.counted(observed_state::started), 1u);
  EXPECT_EQ(caller_.counted(observed_state::unknown), 1u);
  EXPECT_EQ(caller_.claim(claim_of("unknown")).kind, verdict_kind::unknown);
}

TEST_P(retention_contract, an_unknown_record_expires_after_its_unknown_retention) {
  auto request = claim_of("k");
  request.unknown_retention = day;
  caller_.leased(request);
  advance(lease_length + day - second);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::unknown);
  EXPECT_EQ(caller_.sweep(), 0u);
  advance(second);
  EXPECT_EQ(caller_.counted(observed_state::unknown), 0u);
  expect_swept(1);
  EXPECT_EQ(caller_.claim(claim_of("k", "other")).kind, verdict_kind::run);
}

TEST_P(retention_contract, the_sweep_removes_expired_records_up_to_its_limit) {
  for (int i = 0; i < 10; ++i) caller_.completed(claim_of("old" + std::to_string(i)));
  advance(day);
  caller_.completed(claim_of("fresh"));
  expect_swept(4, 4);
  expect_swept(6);
  expect_swept(0);
  EXPECT_EQ(caller_.counted(observed_state::completed), 1u);
  EXPECT_EQ(caller_.claim(claim_of("fresh")).kind, verdict_kind::replay);
}

TEST_P(retention_contract, unsettled_records_count_towards_the_limit_of_a_sweep) {
  for (int i = 0; i < 4; ++i) {
    caller_.completed(claim_of("settled" + std::to_string(i)));
    auto request = claim_of("unsettled" + std::to_string(i));
    request.unknown_retention = day;
    caller_.leased(request);
  }
  advance(lease_length + day);
  expect_swept(6, 6);
  expect_swept(2, 6);
}

TEST_P(two_clocks_contract, a_step_of_the_wall_clock_pauses_expiry_for_an_hour) {
  for (const auto step : {2 * day, -5 * day}) {
    caller_.completed(claim_of("k"));
    advance(day - second);
    delegate_->clock.step_wall(step);
    EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
    advance(milliseconds(3'600'000) - second);
    EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
    EXPECT_EQ(caller_.sweep(), 0u);
    EXPECT_EQ(caller_.counted(observed_state::completed), 1u);
    advance(second);
    EXPECT_EQ(caller_.sweep(), 1u);
  }
}

TEST_P(two_clocks_contract, no_step_of_the_wall_clock_ends_a_retention_early_or_late) {
  for (const auto step : {3 * day, -3 * day, 10'000 * day}) {
    SCOPED_TRACE(step.count());
    caller_.completed(claim_of("claimed", std::to_string(step.count())));
    caller_.completed(claim_of("swept"));
    delegate_->clock.step_wall(step);
    advance(milliseconds(3'600'000));  // the new wall time is confirmed after an hour
    caller_.completed(claim_of("behind it"));
    if (delegate_->remembers()) reopen();
    advance(day - milliseconds(3'600'000) - second);
    const auto verdict = caller_.claim(claim_of("claimed", std::to_string(step.count())));
    EXPECT_EQ(verdict.kind, verdict_kind::replay);
    EXPECT_EQ(verdict.retention_left, second);
    EXPECT_EQ(caller_.sweep(), 0u);
    EXPECT_EQ(caller_.counted(observed_state::completed), 3u);
    advance(second);
    EXPECT_EQ(caller_.claim(claim_of("claimed", "another request")).kind, verdict_kind::run);
    EXPECT_EQ(caller_.sweep(), 1u);
    advance(milliseconds(3'600'000));
    EXPECT_EQ(caller_.sweep(), 1u);
    resolution request;
    request.id = claim_of("claimed").id;
    request.force = true;
    caller_.resolve(request);
    advance(day);
    EXPECT_EQ(caller_.sweep(), 1u);
  }
}

TEST_P(two_clocks_contract, no_step_of_the_wall_clock_ends_an_unknown_retention_early) {
  for (const auto step : {3 * day, -3 * day}) {
    auto request = claim_of("k");
    request.unknown_retention = day;
    const auto held = caller_.leased(request);
    delegate_->clock.step_wall(step);
    EXPECT_TRUE(caller_.extend(extend_of(request, held)));
    advance(lease_length + day - second);
    EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::unknown);
    EXPECT_EQ(caller_.sweep(), 0u);
    advance(second);
    EXPECT_EQ(caller_.sweep(), 1u);
  }
}

TEST_P(two_clocks_contract, no_step_of_the_wall_clock_makes_an_unsettled_record_expire) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  delegate_->clock.step_wall(10'000 * day);
  advance(milliseconds(3'600'000));
  EXPECT_EQ(caller_.sweep(), 0u);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::unknown);
  EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_P(two_clocks_contract, a_running_lease_is_neither_swept_nor_taken_over_after_a_clock_step) {
  for (const auto kept : {milliseconds(0), milliseconds(1)}) {
    auto request = claim_of(std::to_string(kept.count()));
    request.unknown_retention = kept;
    const auto held = caller_.leased(request);
    delegate_->clock.step_wall(10 * day);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::busy);
    EXPECT_EQ(caller_.sweep(), 0u);
    advance(lease_length - second);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::busy);
    EXPECT_EQ(caller_.sweep(), 0u);
    EXPECT_TRUE(caller_.extend(extend_of(request, held)));
  }
}

TEST_P(two_clocks_contract, shown_times_follow_a_step_of_the_wall_clock) {
  const auto request = claim_of("k");
  caller_.completed(request);
  delegate_->clock.step_wall(3 * day);
  advance(second);
  const auto found = caller_.find(request.id);
  const auto now = delegate_->clock.wall_ms();
  EXPECT_EQ(found->stored.claimed_at_wall, now - second.count());
  EXPECT_EQ(found->stored.settled_at_wall, now - second.count());
  EXPECT_EQ(found->retention_left, day - second);
  EXPECT_EQ(caller_.list().records.at(0).stored.claimed_at_wall, now - second.count());
}

TEST_P(two_clocks_contract,
       shown_times_are_stable_although_two_clocks_are_read_at_different_moments) {
  const auto request = claim_of("k");
  caller_.completed(request);
  for (const auto step : {milliseconds(0), milliseconds(-3 * day), milliseconds(6 * day)}) {
    delegate_->clock.step_wall(step);
    const auto before = caller_.find(request.id)->stored;
    for (const int off : {1, -1, -499, 499}) {
      delegate_->clock.step_wall(milliseconds(off));
      const auto found = caller_.find(request.id)->stored;
      EXPECT_EQ(found.claimed_at_wall, before.claimed_at_wall) << off;
      EXPECT_EQ(found.settled_at_wall, before.settled_at_wall) << off;
      EXPECT_EQ(caller_.list().records.at(0).stored.claimed_at_wall, before.claimed_at_wall) << off;
      delegate_->clock.step_wall(milliseconds(-off));
    }
  }
}

TEST_P(sweep_contract, a_clock_step_that_is_taken_back_delays_no_expiry) {
  caller_.completed(claim_of("k"));
  delegate_->clock.step_wall(2 * day);
  EXPECT_EQ(caller_.sweep(), 0u);
  delegate_->clock.step_wall(-2 * day);
  EXPECT_EQ(caller_.sweep(), 0u);
  advance(day);
  EXPECT_EQ(caller_.sweep(), 1u);
}

TEST_P(two_clocks_contract, leases_are_independent_of_the_wall_clock) {
  caller_.leased(claim_of("k"));
  delegate_->clock.step_wall(2 * day);
  EXPECT_EQ(caller_.claim(claim_of("k")).retry_after, lease_length);
}

}  // namespace
}  // namespace onceguard::testing
