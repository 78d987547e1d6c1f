// The state machine: what a record keeps from one attempt to the next.
#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

TEST_F(decide_walk, a_running_lease_keeps_its_record_whatever_the_wall_clock_says) {
  auto first = claim_of(1);
  first.unknown_retention = milliseconds(hour);
  ask(first);
  now.wall += 2 * hour;
  EXPECT_FALSE(expired(*stored, now));
  EXPECT_EQ(ask(2).kind, verdict_kind::busy);
  now.lease += 1'000;
  EXPECT_TRUE(expired(*stored, now));
}

TEST_F(decide_walk, retention_counts_from_the_settle) {
  for (const auto kind : {settle_kind::complete, settle_kind::fail}) {
    stored.reset();
    const auto held = ask(1).lease;
    pass(12 * hour);
    end(held, kind);
    pass(24 * hour - 1);
    EXPECT_FALSE(expired(*stored, now));
    pass(1);
    EXPECT_TRUE(expired(*stored, now));
  }
}

TEST_F(decide_walk, retention_by_hand_counts_from_the_operators_word) {
  end(ask(1).lease, settle_kind::abandon);
  pass(12 * hour);
  resolution request;
  request.completed = true;
  request.retention = milliseconds(hour);
  stored = decide_resolution(there(), request, now).write;
  pass(hour - 1);
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
  pass(1);
  EXPECT_EQ(ask(3).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_renewal_needs_its_token_and_its_claim_id) {
  const auto held = ask(1).lease;
  auto other_token = held;
  ++other_token.token;
  EXPECT_FALSE(extend(other_token));
  auto other_claim = held;
  other_claim.claim_id = claim_id_of(9);
  EXPECT_FALSE(extend(other_claim));
  EXPECT_TRUE(extend(held));
}

TEST_F(decide_walk, a_release_with_a_token_needs_that_token) {
  auto other = ask(1).lease;
  ++other.token;
  EXPECT_EQ(end(other, settle_kind::release).outcome, settle_outcome::stale);
  EXPECT_EQ(state(), observed_state::in_progress);
}

TEST_F(decide_walk, an_earlier_attempt_stays_in_doubt_over_a_failed_one) {
  for (const bool dispatched : {false, true}) {
    stored.reset();
    end(ask(1).lease, settle_kind::abandon);
    auto failed = settle_of(ask(2, unknown_policy::rerun).lease, settle_kind::fail);
    failed.why = unknown_reason::upstream_status;
    end(failed);
    pass(hour);
    auto again = claim_of(3);
    again.into_started = true;
    const auto third = ask(again).lease;
    EXPECT_EQ(stored->state, record_state::started);
    if (dispatched) {
      EXPECT_TRUE(extend(third, true));
    }
    end(third, dispatched ? settle_kind::release : settle_kind::abandon);
    EXPECT_EQ(state(), observed_state::unknown) << "the third did nothing, the first may have";
    EXPECT_EQ(ask(4).why, unknown_reason::upstream_timeout);
  }
}

TEST_F(decide_walk, why_an_attempt_failed_says_nothing_of_the_next_one) {
  auto failed = settle_of(ask(1).lease, settle_kind::fail);
  failed.why = unknown_reason::upstream_status;
  end(failed);
  pass(hour);
  ask(2);
  pass(1'000);
  EXPECT_EQ(ask(3).why, unknown_reason::holder_gone);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::running) << "it may be with the upstream";
}

TEST_F(decide_walk, a_completion_ends_every_doubt) {
  end(ask(1).lease, settle_kind::abandon);
  end(ask(2, unknown_policy::rerun).lease, settle_kind::fail);
  pass(hour);
  end(ask(3).lease, settle_kind::complete);
  EXPECT_FALSE(stored->earlier_unknown);
  EXPECT_EQ(stored->why, unknown_reason::none);
  EXPECT_EQ(stored->failures, 0u);
}

TEST_F(decide_walk, an_answer_of_an_earlier_attempt_says_nothing_of_the_one_under_way) {
  auto answered = settle_of(ask(1).lease, settle_kind::abandon);
  answered.why = unknown_reason::upstream_status;
  answered.why_status = 500;
  end(answered);
  ask(2, unknown_policy::rerun);
  pass(1'000);  // its lease is over, and its request may still be with the upstream
  const auto refused = resolve(false);
  EXPECT_EQ(refused.outcome, resolve_outcome::running);
  EXPECT_EQ(refused.retry_after, about()->run_timeout);
  pass(60'000);
  const auto freed = resolve(false);
  EXPECT_EQ(freed.outcome, resolve_outcome::done);
  EXPECT_FALSE(freed.forgets_answer) << "there was none";
}

TEST_F(decide_walk, what_may_be_a_repeat_stays_so_for_each_later_attempt) {
  auto first = claim_of(1);
  first.maybe_repeated = true;
  end(ask(first).lease, settle_kind::fail);
  pass(1'000);
  const auto second = ask(2).lease;
  EXPECT_TRUE(stored->maybe_repeated);
  end(second, settle_kind::release);
  EXPECT_TRUE(stored->maybe_repeated);
  ask(3);
  EXPECT_TRUE(stored->maybe_repeated);
}

TEST_F(decide_walk, a_probe_makes_the_attempt_that_is_in_doubt_no_younger) {
  end(ask(1).lease, settle_kind::abandon);
  auto question = claim_of(2, unknown_policy::probe);
  question.probe_after = milliseconds(60'000);
  pass(59'999);
  const auto early = ask(question);
  EXPECT_EQ(early.kind, verdict_kind::unknown);
  EXPECT_EQ(early.retry_after, milliseconds(1));
  pass(1);
  EXPECT_EQ(ask(question).kind, verdict_kind::run);
  pass(1'000);  // nobody got what it found out
  question.claim_id = claim_id_of(3);
  EXPECT_EQ(ask(question).kind, verdict_kind::run);
  pass(1'000);
  EXPECT_EQ(ask(4).since, milliseconds(62'000));
}

TEST_F(decide_walk, what_runs_after_a_probe_is_as_young_as_its_own_beginning) {
  end(ask(1).lease, settle_kind::abandon);
  auto question = claim_of(2, unknown_policy::probe);
  question.probe_after = milliseconds(60'000);
  pass(60'000);
  const auto second = ask(question).lease;
  ASSERT_TRUE(extend(second, true));
  end(second, settle_kind::abandon);
  question.claim_id = claim_id_of(3);
  pass(1'000);
  const auto early = ask(question);
  EXPECT_EQ(early.kind, verdict_kind::unknown);
  EXPECT_EQ(early.retry_after, milliseconds(59'000));
  EXPECT_EQ(early.since, milliseconds(1'000));
  pass(59'000);
  EXPECT_EQ(ask(question).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_takeover_knows_what_the_upstream_said_before) {
  auto answered = settle_of(ask(1).lease, settle_kind::abandon);
  answered.why = unknown_reason::upstream_status;
  answered.why_status = 500;
  end(answered);
  EXPECT_EQ(ask(2).why_status, 500);
  EXPECT_EQ(ask(3, unknown_policy::rerun).why_status, 500);
  pass(1'000);
  const auto later = ask(4);
  EXPECT_EQ(later.why, unknown_reason::upstream_status);
  EXPECT_EQ(later.why_status, 500);
}

TEST_F(decide_walk, a_probe_that_fences_waits_for_no_wall_clock) {
  end(ask(1).lease, settle_kind::abandon);
  now.wall -= hour;
  EXPECT_TRUE(ask(2, unknown_policy::probe).lease.probe);
}

TEST_F(decide_walk, an_answer_may_be_cached_for_what_is_left_of_its_retention) {
  end(ask(1).lease, settle_kind::complete);
  pass(hour);
  EXPECT_EQ(ask(2).retention_left, milliseconds(23 * hour));
}

TEST_F(decide_walk, a_release_is_remembered_for_an_hour) {
  end(ask(1).lease, settle_kind::release);
  pass(hour - 1);
  EXPECT_FALSE(expired(*stored, now)) << "its claim may still arrive";
  pass(1);
  EXPECT_TRUE(expired(*stored, now));
}

TEST_F(decide_walk, what_was_completed_after_its_release_is_compared_with_each_request) {
  const auto held = ask(1).lease;
  resolve(false, true);
  EXPECT_EQ(end(held, settle_kind::complete).outcome, settle_outcome::incident);
  EXPECT_EQ(end(held, settle_kind::complete).outcome, settle_outcome::done);
  auto other = claim_of(2);
  other.about = about(2);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);
  EXPECT_EQ(ask(3).kind, verdict_kind::replay);
}

TEST_F(decide_walk, an_attempt_whose_successors_answer_has_expired_is_stale) {
  const auto slow = ask(1).lease;
  pass(1'000);
  end(ask(2, unknown_policy::rerun).lease, settle_kind::complete);
  pass(24 * hour);
  EXPECT_EQ(end(slow, settle_kind::complete).outcome, settle_outcome::stale);
  EXPECT_EQ(ask(3).kind, verdict_kind::run) << "the retention of the key's answer is over";
}

TEST_F(decide_walk, only_a_release_may_name_a_lease_by_its_claim_id_alone) {
  auto nameless = ask(1).lease;
  nameless.token = 0;
  for (const auto kind : {settle_kind::complete, settle_kind::fail, settle_kind::abandon}) {
    EXPECT_EQ(end(nameless, kind).outcome, settle_outcome::stale);
    EXPECT_EQ(state(), observed_state::in_progress);
  }
}

TEST_F(decide_walk, a_renewal_that_comes_after_its_settle_changes_nothing) {
  for (const auto kind : {settle_kind::complete, settle_kind::fail, settle_kind::release}) {
    stored.reset();
    const auto held = ask(1).lease;
    end(held, kind);
    const auto before = *stored;
    for (const bool dispatch : {false, true}) EXPECT_FALSE(extend(held, dispatch));
    EXPECT_EQ(stored->state, before.state);
    EXPECT_EQ(stored->expires_at_wall, before.expires_at_wall);
  }
}

TEST_F(decide_walk, the_largest_durations_are_for_ever) {
  constexpr auto for_ever = milliseconds::max();
  auto first = claim_of(1);
  first.lease = first.unknown_retention = for_ever;
  auto failed = settle_of(ask(first).lease, settle_kind::fail);
  pass(24 * hour);
  EXPECT_EQ(ask(2).kind, verdict_kind::busy);
  failed.backoff = failed.backoff_max = failed.retention = for_ever;
  end(failed);
  pass(24 * hour);
  EXPECT_EQ(ask(3).kind, verdict_kind::backoff);
  stored.reset();
  auto completed = settle_of(ask(4).lease, settle_kind::complete);
  completed.retention = for_ever;
  end(completed);
  pass(24 * hour);
  EXPECT_EQ(ask(5).kind, verdict_kind::replay);
}

TEST_F(decide_walk, a_backoff_that_is_larger_than_its_limit_is_the_limit_each_time) {
  for (int i = 0; i < 40; ++i) {
    auto failed = settle_of(ask(1).lease, settle_kind::fail);
    failed.backoff = milliseconds::max();
    end(failed);
    const auto refused = ask(2);
    EXPECT_EQ(refused.retry_after, failed.backoff_max);
    pass(refused.retry_after.count());
    ASSERT_EQ(ask(1).kind, verdict_kind::run) << i;
  }
}

}  // namespace
}  // namespace onceguard
