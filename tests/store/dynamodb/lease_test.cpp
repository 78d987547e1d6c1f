// Leases without a clock that processes share: a lease is over for whoever saw it unchanged for its
// whole length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/dynamodb/fixture.hpp"

namespace onceguard::testing {
namespace {

constexpr milliseconds one{1};

using dynamodb_lease_test = dynamodb_fixture;

TEST_F(dynamodb_lease_test, a_lease_is_over_after_a_whole_lease_was_watched) {
  const auto holder = begin();
  const auto other = begin(beginning + day.count());  // its clocks are a day ahead
  const auto request = claim_of("k");
  holder->caller->leased(request);
  holder->clock.advance(10 * second);
  auto met = other->caller->claim(claim_of("k"));
  EXPECT_EQ(met.kind, verdict_kind::busy);
  EXPECT_EQ(met.retry_after, lease_length);
  other->clock.advance(lease_length - one);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  other->clock.advance(one);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::unknown);
}

TEST_F(dynamodb_lease_test, a_renewal_is_watched_anew) {
  const auto holder = begin();
  const auto other = begin();
  const auto request = claim_of("k");
  const auto held = holder->caller->leased(request);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  other->clock.advance(lease_length - one);
  EXPECT_TRUE(holder->caller->extend(extend_of(request, held)));
  other->clock.advance(one);
  const auto met = other->caller->claim(claim_of("k"));
  EXPECT_EQ(met.kind, verdict_kind::busy);
  EXPECT_EQ(met.retry_after, lease_length);
  other->clock.advance(lease_length);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::unknown);
  // Nobody took it over: the holder was only slow.
  EXPECT_EQ(holder->caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(dynamodb_lease_test, a_process_that_begins_watches_a_whole_lease_whatever_the_time) {
  const auto request = claim_of("k");
  begin()->caller->leased(request);
  const auto later = begin(beginning + day.count());
  EXPECT_EQ(later->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  later->clock.step_wall(day);
  EXPECT_EQ(later->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  later->clock.advance(lease_length);
  EXPECT_EQ(later->caller->claim(claim_of("k")).kind, verdict_kind::unknown);
}

TEST_F(dynamodb_lease_test, a_takeover_supersedes_the_holder) {
  const auto holder = begin();
  const auto other = begin();
  const auto request = claim_of("k");
  const auto held = holder->caller->leased(request);
  auto taking = claim_of("k");
  taking.unknown = unknown_policy::rerun;
  EXPECT_EQ(other->caller->claim(taking).kind, verdict_kind::busy);
  other->clock.advance(lease_length);
  const auto taken = other->caller->claim(taking);
  ASSERT_EQ(taken.kind, verdict_kind::run);
  EXPECT_GT(taken.lease.token, held.token);
  EXPECT_FALSE(holder->caller->extend(extend_of(request, held)));
  EXPECT_EQ(holder->caller->settle(settle_of(request, held)).outcome, settle_outcome::stale);
}

TEST_F(dynamodb_lease_test, what_a_sweep_has_watched_is_known_to_processes_that_begin) {
  begin()->caller->leased(claim_of("k"));
  const auto gateway = begin();
  gateway->caller->sweep();
  gateway->clock.advance(lease_length - one);
  gateway->caller->sweep();
  EXPECT_EQ(begin()->caller->seen(claim_of("k").id).state, observed_state::in_progress);
  gateway->clock.advance(one);
  gateway->caller->sweep();
  EXPECT_EQ(begin()->caller->seen(claim_of("k").id).state, observed_state::unknown);
}

TEST_F(dynamodb_lease_test, an_operator_waits_until_the_work_is_over_for_sure) {
  const auto request = claim_of("k");
  begin()->caller->leased(request);
  const auto gateway = begin();
  gateway->caller->sweep();
  gateway->clock.advance(lease_length);
  gateway->caller->sweep();
  resolution release;
  release.id = request.id;
  EXPECT_EQ(begin()->caller->resolve(release).outcome, resolve_outcome::running);
  gateway->clock.advance(request.about->run_timeout);
  gateway->caller->sweep();
  list_filter filter;
  filter.needs_person = true;
  EXPECT_EQ(begin()->caller->list(filter).records.size(), 1u);
  EXPECT_EQ(begin()->caller->resolve(release).outcome, resolve_outcome::done);
  EXPECT_TRUE(begin()->caller->list(filter).records.empty());
}

TEST_F(dynamodb_lease_test, a_renewal_ends_what_a_sweep_has_watched) {
  const auto holder = begin();
  const auto request = claim_of("k");
  const auto held = holder->caller->leased(request);
  const auto gateway = begin();
  gateway->caller->sweep();
  gateway->clock.advance(lease_length + request.about->run_timeout);
  gateway->caller->sweep();
  EXPECT_EQ(begin()->caller->claim(claim_of("k")).kind, verdict_kind::unknown);
  EXPECT_TRUE(holder->caller->extend(extend_of(request, held)));
  EXPECT_EQ(begin()->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  EXPECT_EQ(gateway->caller->claim(claim_of("k")).kind, verdict_kind::busy);
}

TEST_F(dynamodb_lease_test, a_lease_whose_record_a_late_settle_rebuilds_is_watched_anew) {
  const auto holder = begin();
  const auto other = begin();
  auto request = claim_of("k");
  request.unknown_retention = 60 * second;
  const auto held = holder->caller->leased(request);
  EXPECT_EQ(other->caller->claim(claim_of("k")).kind, verdict_kind::busy);
  auto later = claim_of("k");
  later.unknown_retention = request.unknown_retention;
  for (const bool claims : {true, false}) {
    holder->clock.advance(lease_length + request.unknown_retention);
    other->clock.advance(lease_length + request.unknown_retention);
    if (claims) holder->caller->leased(later);
  }
  const auto end = settle_of(request, held, settle_kind::abandon);
  EXPECT_EQ(holder->caller->settle(end).outcome, settle_outcome::incident);
  resolution release;
  release.id = request.id;
  EXPECT_EQ(other->caller->resolve(release).outcome, resolve_outcome::running);
  other->clock.advance(request.about->run_timeout);
  EXPECT_EQ(other->caller->resolve(release).outcome, resolve_outcome::done);
}

TEST_F(dynamodb_lease_test, a_back_off_is_watched_as_well) {
  const auto holder = begin();
  const auto request = claim_of("k");
  auto failure = settle_of(request, holder->caller->leased(request), settle_kind::fail);
  failure.backoff = 10 * second;
  holder->caller->settle(failure);
  const auto other = begin(beginning + day.count() / 2);
  const auto met = other->caller->claim(claim_of("k"));
  EXPECT_EQ(met.kind, verdict_kind::backoff);
  EXPECT_EQ(met.retry_after, 10 * second);
  other->clock.advance(10 * second);
  EXPECT_EQ(other->caller->leased(claim_of("k")).attempt, 2u);
}

TEST_F(dynamodb_lease_test, two_processes_that_take_over_at_once_get_one_lease) {
  begin()->caller->leased(claim_of("k"));
  const auto a = begin();
  const auto b = begin();
  for (const auto* each : {&a, &b}) {
    auto taking = claim_of("k");
    taking.unknown = unknown_policy::rerun;
    EXPECT_EQ((*each)->caller->claim(taking).kind, verdict_kind::busy);
    (*each)->clock.advance(lease_length);
  }
  std::atomic<int> runs{0};
  std::vector<std::thread> threads;
  for (const auto* each : {&a, &b}) {
    threads.emplace_back([each, &runs] {
      auto taking = claim_of("k");
      taking.unknown = unknown_policy::rerun;
      runs += (*each)->caller->claim(taking).kind == verdict_kind::run ? 1 : 0;
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(runs, 1);
}

TEST_F(dynamodb_lease_test, a_settle_that_meets_the_renewal_of_another_process_is_carried_out) {
  const auto holder = begin();
  const auto other = begin();
  const auto request = claim_of("k");
  const auto held = holder->caller->leased(request);
  // Both write for the second time: the marks of the two writes are the same.
  EXPECT_TRUE(other->caller->extend(extend_of(request, held)));
  EXPECT_EQ(holder->caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(begin()->caller->claim(claim_of("k")).kind, verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing
