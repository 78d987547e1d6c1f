// The state machine, row by row: what a claim and a settle meet in each state.
#include <gmock/gmock.h>

#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

TEST_F(decide_walk, nothing_there_runs) {
  const auto v = ask(1);
  EXPECT_EQ(v.kind, verdict_kind::run);
  EXPECT_EQ(v.lease.attempt, 1u);
  EXPECT_EQ(v.lease.token, 100u);
  EXPECT_FALSE(v.lease.probe);
  EXPECT_EQ(state(), observed_state::in_progress);
}

TEST_F(decide_walk, a_running_one_is_busy_for_others) {
  ask(1);
  pass(400);
  const auto v = ask(2);
  EXPECT_EQ(v.kind, verdict_kind::busy);
  EXPECT_EQ(v.retry_after.count(), 600);
}

TEST_F(decide_walk, the_repeat_of_a_claim_gets_the_same_lease) {
  const auto first = ask(1);
  pass(5'000);  // also after its lease ran out: nobody else has it
  const auto again = ask(1);
  EXPECT_EQ(again.kind, verdict_kind::run);
  EXPECT_EQ(again.lease, first.lease);
}

TEST_F(decide_walk, a_completed_one_is_replayed) {
  const auto v = ask(1);
  EXPECT_EQ(end(v.lease, settle_kind::complete).outcome, settle_outcome::done);
  const auto r = ask(2);
  ASSERT_EQ(r.kind, verdict_kind::replay);
  ASSERT_TRUE(r.answer);
  EXPECT_EQ(r.answer->body, "first");
  EXPECT_EQ(r.retention_left.count(), 24 * hour);
}

TEST_F(decide_walk, a_replay_writes_nothing) {
  end(ask(1).lease, settle_kind::complete);
  EXPECT_FALSE(decide(there(), claim_of(2), now, next).write);
}

TEST_F(decide_walk, retention_ends_at_its_end_and_a_new_record_begins) {
  const auto v = ask(1);
  end(v.lease, settle_kind::complete);
  pass(24 * hour - 1);
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
  pass(1);
  const auto again = ask(3);
  EXPECT_EQ(again.kind, verdict_kind::run);
  EXPECT_EQ(again.lease.attempt, 1u);
  EXPECT_GT(again.lease.token, v.lease.token);
}

TEST_F(decide_walk, nothing_expires_while_expiry_is_paused) {
  end(ask(1).lease, settle_kind::complete);
  pass(48 * hour);
  now.expiry_paused = true;
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
}

TEST_F(decide_walk, a_lease_that_ran_out_is_unknown_and_held) {
  ask(1);
  pass(1'000);
  const auto v = ask(2);
  EXPECT_EQ(v.kind, verdict_kind::unknown);
  EXPECT_EQ(v.why, unknown_reason::holder_gone);
  EXPECT_EQ(v.since.count(), 1'000);
  pass(1'000 * hour);
  EXPECT_EQ(ask(3).kind, verdict_kind::unknown);  // it never ends by itself
}

TEST_F(decide_walk, another_fingerprint_never_runs_nor_replays) {
  auto other = claim_of(9, unknown_policy::rerun);
  other.about = about(2);
  const auto v = ask(1);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);  // in flight
  pass(2'000);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);  // at unknown, with rerun too
  const auto taken = ask(3, unknown_policy::rerun);
  ASSERT_EQ(taken.kind, verdict_kind::run);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);  // after a takeover
  end(taken.lease, settle_kind::fail);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);  // failed, before and …
  pass(120'000);
  EXPECT_EQ(ask(other).kind, verdict_kind::mismatch);  // … after its back-off
  end(ask(4).lease, settle_kind::complete);
  const auto last = ask(other);
  EXPECT_EQ(last.kind, verdict_kind::mismatch);
  EXPECT_FALSE(last.answer);
  EXPECT_EQ(v.kind, verdict_kind::run);
}

TEST_F(decide_walk, after_a_release_another_fingerprint_may_run) {
  end(ask(1).lease, settle_kind::release);
  auto other = claim_of(2);
  other.about = about(2);
  EXPECT_EQ(ask(other).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_fingerprint_is_compared_the_way_that_the_record_says) {
  end(ask(1).lease, settle_kind::complete);
  auto other = claim_of(2);
  other.about = about(1, "json");
  const auto v = ask(other);
  EXPECT_EQ(v.kind, verdict_kind::remake_fingerprint);
  EXPECT_EQ(v.fingerprint_method, "exact");
}

TEST_F(decide_walk, release_frees_the_key_and_tokens_and_attempts_go_on) {
  const auto v = ask(1);
  EXPECT_EQ(end(v.lease, settle_kind::release).outcome, settle_outcome::done);
  EXPECT_EQ(state(), observed_state::released);
  EXPECT_EQ(stored->about->print, fingerprint{});
  const auto again = ask(2);
  EXPECT_EQ(again.kind, verdict_kind::run);
  EXPECT_EQ(again.lease.attempt, 2u);
  EXPECT_GT(again.lease.token, v.lease.token);
}

TEST_F(decide_walk, a_released_claim_id_is_refused) {
  end(ask(1).lease, settle_kind::release);
  EXPECT_EQ(ask(1).kind, verdict_kind::refused);
}

TEST_F(decide_walk, a_release_by_claim_id_alone_is_remembered) {
  settlement s;
  s.claim_id = claim_id_of(1);
  s.about = about();
  s.kind = settle_kind::release;
  EXPECT_EQ(end(s).outcome, settle_outcome::done);
  EXPECT_EQ(ask(1).kind, verdict_kind::refused);  // the claim arrives after its release
  EXPECT_EQ(ask(2).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_release_by_claim_id_is_remembered_over_an_expired_record) {
  const auto held = ask(1).lease;
  end(held, settle_kind::complete);
  pass(25 * hour);
  settlement s;
  s.claim_id = claim_id_of(2);
  s.about = about();
  s.kind = settle_kind::release;
  end(s);
  EXPECT_EQ(ask(2).kind, verdict_kind::refused);
  EXPECT_GE(stored->token, held.token) << "tokens never fall";
  EXPECT_EQ(ask(3).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_release_by_claim_id_touches_no_other_lease) {
  ask(1);
  settlement s;
  s.claim_id = claim_id_of(2);
  s.about = about();
  s.kind = settle_kind::release;
  end(s);
  EXPECT_EQ(state(), observed_state::in_progress);
  EXPECT_EQ(stored->claim_id, claim_id_of(1));
}

TEST_F(decide_walk, failing_backs_off_doubling_up_to_the_limit) {
  auto v = ask(1);
  std::vector<std::int64_t> pauses;
  for (unsigned char n = 2; n < 12; ++n) {
    end(v.lease, settle_kind::fail);
    const auto refused = ask(100);
    ASSERT_EQ(refused.kind, verdict_kind::backoff);
    pauses.push_back(refused.retry_after.count());
    pass(refused.retry_after.count());
    v = ask(n);
    ASSERT_EQ(v.kind, verdict_kind::run);
    EXPECT_EQ(v.lease.attempt, n);
  }
  EXPECT_THAT(pauses, ::testing::ElementsAre(1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000,
                                             60'000, 60'000, 60'000));
}

TEST_F(decide_walk, started_is_taken_over_safely) {
  auto c = claim_of(1);
  c.into_started = true;
  const auto v = ask(c);
  EXPECT_TRUE(v.lease.started);
  EXPECT_EQ(ask(2).kind, verdict_kind::busy);
  pass(1'000);
  EXPECT_EQ(state(), observed_state::started);
  EXPECT_EQ(ask(3).kind, verdict_kind::run);
}

TEST_F(decide_walk, dispatch_makes_a_record_in_progress) {
  auto c = claim_of(1);
  c.into_started = true;
  const auto v = ask(c);
  EXPECT_TRUE(extend(v.lease, true));
  pass(1'000);
  EXPECT_EQ(ask(2).kind, verdict_kind::unknown);
}

TEST_F(decide_walk, abandon_is_unknown_at_once_and_says_why) {
  end(ask(1).lease, settle_kind::abandon);
  const auto v = ask(2);
  EXPECT_EQ(v.kind, verdict_kind::unknown);
  EXPECT_EQ(v.why, unknown_reason::upstream_timeout);
}

TEST_F(decide_walk, abandoning_what_was_not_begun_frees_it) {
  auto c = claim_of(1);
  c.into_started = true;
  end(ask(c).lease, settle_kind::abandon);
  EXPECT_EQ(ask(2).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_superseded_lease_changes_nothing) {
  const auto old = ask(1);
  pass(1'000);
  const auto taken = ask(2, unknown_policy::rerun);
  ASSERT_EQ(taken.kind, verdict_kind::run);
  const auto before = *stored;
  for (const auto kind :
       {settle_kind::complete, settle_kind::fail, settle_kind::release, settle_kind::abandon}) {
    EXPECT_EQ(end(old.lease, kind).outcome, settle_outcome::stale);
    EXPECT_EQ(stored->token, before.token);
    EXPECT_EQ(stored->state, before.state);
  }
  EXPECT_FALSE(extend(old.lease));
}

TEST_F(decide_walk, the_stale_holder_is_given_the_stored_answer) {
  const auto old = ask(1);
  pass(1'000);
  end(ask(2, unknown_policy::rerun).lease, settle_kind::complete);
  const auto late = end(old.lease, settle_kind::complete);
  EXPECT_EQ(late.outcome, settle_outcome::stale);
  EXPECT_EQ(late.state, observed_state::completed);
  ASSERT_TRUE(late.answer);
}

TEST_F(decide_walk, the_claim_id_is_checked_as_well_as_the_token) {
  auto v = ask(1);
  v.lease.claim_id = claim_id_of(77);
  EXPECT_EQ(end(v.lease, settle_kind::complete).outcome, settle_outcome::stale);
}

TEST_F(decide_walk, a_lease_that_ran_out_may_still_be_renewed_and_settled) {
  const auto v = ask(1);
  pass(5'000);
  EXPECT_TRUE(extend(v.lease));
  EXPECT_EQ(ask(2).kind, verdict_kind::busy);
  pass(5'000);
  EXPECT_EQ(end(v.lease, settle_kind::complete).outcome, settle_outcome::done);
  EXPECT_EQ(ask(3).kind, verdict_kind::replay);
}

TEST_F(decide_walk, a_lease_that_was_abandoned_is_not_revived) {
  const auto v = ask(1);
  end(v.lease, settle_kind::abandon);
  EXPECT_FALSE(extend(v.lease));
  EXPECT_EQ(state(), observed_state::unknown);
  const auto probe = ask(2, unknown_policy::probe);
  EXPECT_TRUE(extend(probe.lease));
  end(probe.lease, settle_kind::abandon);
  EXPECT_FALSE(extend(probe.lease, true));
  EXPECT_EQ(state(), observed_state::unknown);
  const auto again = ask(3, unknown_policy::rerun);
  EXPECT_TRUE(extend(again.lease));
  end(again.lease, settle_kind::release);  // as an earlier one was unknown, so is this
  EXPECT_FALSE(extend(again.lease));
  EXPECT_EQ(end(again.lease, settle_kind::complete).outcome, settle_outcome::done);
}

TEST_F(decide_walk, a_repeated_settle_is_done_and_writes_nothing) {
  for (const auto kind : {settle_kind::complete, settle_kind::fail, settle_kind::release}) {
    stored.reset();
    const auto v = ask(1);
    end(v.lease, kind);
    const auto again = decide_settle(there(), settle_of(v.lease, kind), now);
    EXPECT_EQ(again.result.outcome, settle_outcome::done);
    EXPECT_FALSE(again.write);
  }
}

TEST_F(decide_walk, a_complete_that_finds_nothing_writes_an_incident) {
  const auto v = ask(1);
  stored.reset();
  EXPECT_EQ(end(v.lease, settle_kind::complete).outcome, settle_outcome::incident);
  EXPECT_TRUE(stored->incident);
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
}

TEST_F(decide_walk, a_complete_after_its_own_release_writes_an_incident) {
  const auto v = ask(1);
  pass(100'000);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::done);
  EXPECT_EQ(end(v.lease, settle_kind::complete).outcome, settle_outcome::incident);
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
}

TEST_F(decide_walk, an_abandon_that_finds_nothing_is_not_forgotten) {
  const auto v = ask(1);
  stored.reset();
  EXPECT_EQ(end(v.lease, settle_kind::abandon).outcome, settle_outcome::incident);
  EXPECT_EQ(ask(2).kind, verdict_kind::unknown);
}

}  // namespace
}  // namespace onceguard
