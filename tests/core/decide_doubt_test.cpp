// The state machine, row by row: probes, operators, and what is not settled.
#include <gmock/gmock.h>

#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

// ---- what can't be read

TEST_F(decide_walk, what_could_not_be_read_is_replaced_with_a_later_token_and_no_holder) {
  const auto held = ask(1).lease;
  resolution request;
  request.force = true;
  auto d = resolve_unreadable(request, now, next);
  stored = d.write;
  EXPECT_TRUE(d.forgets_answer);
  EXPECT_EQ(state(), observed_state::released);
  EXPECT_TRUE(stored->by_operator);
  EXPECT_EQ(stored->token, next++);
  EXPECT_EQ(end(held, settle_kind::complete).outcome, settle_outcome::stale);
  EXPECT_FALSE(extend(held));
  const auto later = ask(2);
  EXPECT_EQ(later.kind, verdict_kind::run);
  EXPECT_GT(later.lease.token, held.token);
}

TEST_F(decide_walk, what_was_completed_unread_is_compared_with_no_request) {
  resolution request;
  request.force = true;
  request.completed = true;
  request.retention = milliseconds(1'000);
  request.about = about();
  request.answer = settle_of({}, settle_kind::complete).answer;
  stored = resolve_unreadable(request, now, next).write;
  EXPECT_EQ(stored->about->key, about()->key);
  auto another = claim_of(2);
  auto changed = std::make_shared<subject>(*about());
  changed->print.method = "json";
  changed->print.value[0] ^= 1;
  another.about = changed;
  for (const auto& question : {claim_of(1), another}) {
    const auto reply = ask(question);
    EXPECT_EQ(reply.kind, verdict_kind::replay);
    EXPECT_EQ(reply.answer, request.answer);
    EXPECT_EQ(reply.kept, answer_kept::full);
  }
  pass(1'000);
  EXPECT_EQ(ask(3).kind, verdict_kind::run);
}

// ---- probing

TEST_F(decide_walk, probe_fences_first_and_others_are_busy) {
  const auto first = ask(1);
  pass(1'000);
  const auto probe = ask(2, unknown_policy::probe);
  ASSERT_EQ(probe.kind, verdict_kind::run);
  EXPECT_TRUE(probe.lease.probe);
  EXPECT_GT(probe.lease.token, first.lease.token);
  EXPECT_EQ(ask(3, unknown_policy::probe).kind, verdict_kind::busy);
  EXPECT_EQ(end(first.lease, settle_kind::complete).outcome, settle_outcome::stale);
}

TEST_F(decide_walk, a_probe_lease_that_runs_out_is_unknown_again) {
  end(ask(1).lease, settle_kind::abandon);
  ask(2, unknown_policy::probe);
  pass(1'000);
  const auto v = ask(3);
  EXPECT_EQ(v.kind, verdict_kind::unknown);
  EXPECT_EQ(v.why, unknown_reason::upstream_timeout);
}

TEST_F(decide_walk, operation_reported_not_done_runs_with_the_token_of_the_probe) {
  end(ask(1).lease, settle_kind::abandon);
  const auto probe = ask(2, unknown_policy::probe);
  EXPECT_TRUE(extend(probe.lease, true));
  EXPECT_EQ(state(), observed_state::in_progress);
  end(probe.lease, settle_kind::release);
  EXPECT_EQ(state(), observed_state::released);  // nothing earlier is in doubt any more
}

TEST_F(decide_walk, an_unknown_probe_pauses_the_next) {
  end(ask(1).lease, settle_kind::abandon);
  const auto probe = ask(2, unknown_policy::probe);
  auto s = settle_of(probe.lease, settle_kind::abandon);
  s.why = unknown_reason::probe_inconclusive;
  s.probe_pause = milliseconds(1'000);
  end(s);
  const auto early = ask(3, unknown_policy::probe);
  EXPECT_EQ(early.kind, verdict_kind::unknown);
  EXPECT_EQ(early.why, unknown_reason::upstream_timeout);
  EXPECT_EQ(early.retry_after.count(), 1'000);
  pass(1'000);
  EXPECT_EQ(ask(4, unknown_policy::probe).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_probe_without_fence_waits_for_the_timeout_of_the_upstream) {
  auto c = claim_of(2, unknown_policy::probe);
  c.probe_after = milliseconds(60'000);
  ask(1);
  pass(1'000);
  const auto early = ask(c);
  EXPECT_EQ(early.kind, verdict_kind::unknown);
  EXPECT_EQ(early.retry_after.count(), 59'000);
  pass(59'000);
  EXPECT_TRUE(ask(c).lease.probe);
}

TEST_F(decide_walk, releasing_a_takeover_keeps_the_earlier_unknown) {
  end(ask(1).lease, settle_kind::abandon);
  const auto taken = ask(2, unknown_policy::rerun);
  end(taken.lease, settle_kind::release);
  EXPECT_EQ(state(), observed_state::unknown);
  EXPECT_EQ(ask(3).kind, verdict_kind::unknown);
}

// ---- operators

TEST_F(decide_walk, releasing_a_running_one_needs_force_until_the_upstreams_timeout_is_over) {
  ask(1);
  auto d = resolve(false);
  EXPECT_EQ(d.outcome, resolve_outcome::running);
  EXPECT_EQ(d.retry_after.count(), 61'000);
  pass(1'000);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::running);
  pass(60'000);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::done);
  ask(2);
  EXPECT_EQ(resolve(false, true).outcome, resolve_outcome::done);
}

TEST_F(decide_walk, who_knows_that_it_happened_waits_for_the_lease_alone) {
  ask(1);
  EXPECT_EQ(resolve(true).retry_after, milliseconds(1'000));
  pass(1'000);
  EXPECT_EQ(resolve(true).outcome, resolve_outcome::done) << "whatever the upstream's timeout";
}

TEST_F(decide_walk, after_an_answer_nothing_is_under_way) {
  auto s = settle_of(ask(1).lease, settle_kind::abandon);
  s.why = unknown_reason::upstream_status;
  s.why_status = 500;
  end(s);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::done);
}

TEST_F(decide_walk, the_holder_of_a_record_that_an_operator_completed_is_stale) {
  const auto v = ask(1);
  pass(1'000);
  resolution request;
  request.completed = true;
  auto a = std::make_shared<answer>();
  a->body = "by hand";
  request.answer = a;
  stored = decide_resolution(there(), request, now).write;
  const auto late = end(v.lease, settle_kind::complete);
  EXPECT_EQ(late.outcome, settle_outcome::stale);
  ASSERT_TRUE(late.answer);
  EXPECT_EQ(late.answer->body, "by hand");
}

TEST_F(decide_walk, releasing_a_completed_one_makes_caches_forget) {
  end(ask(1).lease, settle_kind::complete);
  EXPECT_EQ(resolve(true).outcome, resolve_outcome::already_completed);
  EXPECT_TRUE(resolve(false).forgets_answer);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::not_found);
  EXPECT_EQ(ask(2).kind, verdict_kind::run);
}

TEST_F(decide_walk, an_operator_adds_the_answer_that_is_missing_once) {
  for (const auto kept : {answer_kept::none, answer_kept::too_large, answer_kept::streamed}) {
    stored.reset();
    auto request = settle_of(ask(1).lease, settle_kind::complete);
    request.kept = kept;
    request.retention = milliseconds(hour);
    end(request);
    const auto before = *stored;
    pass(1'000);
    resolution added;
    added.completed = true;
    EXPECT_EQ(decide_resolution(there(), added, now).outcome, resolve_outcome::already_completed);
    auto a = std::make_shared<answer>();
    a->body = "by hand";
    added.answer = a;
    added.retention = milliseconds(2 * hour);
    const auto done = decide_resolution(there(), added, now);
    EXPECT_EQ(done.outcome, resolve_outcome::done);
    EXPECT_TRUE(done.forgets_answer) << "caches have it without one";
    ASSERT_TRUE(done.write);
    stored = done.write;
    EXPECT_EQ(stored->answer, added.answer);
    EXPECT_EQ(stored->kept, answer_kept::full);
    EXPECT_TRUE(stored->by_operator);
    EXPECT_EQ(stored->expires_at_wall, before.expires_at_wall);
    EXPECT_EQ(stored->settled_at_wall, before.settled_at_wall);
    EXPECT_EQ(ask(1).kind, verdict_kind::replay);
    EXPECT_EQ(ask(2).kind, verdict_kind::replay);
    EXPECT_EQ(decide_resolution(there(), added, now).outcome, resolve_outcome::already_completed);
    // Its holder answers as the record does.
    const auto late = end(request);
    EXPECT_EQ(late.outcome, settle_outcome::stale);
    EXPECT_EQ(late.answer, added.answer);
  }
}

TEST_F(decide_walk, an_answer_by_its_status_is_not_missing) {
  auto request = settle_of(ask(1).lease, settle_kind::complete);
  request.kept = answer_kept::status_only;
  request.answer = std::make_shared<answer>();
  end(request);
  resolution added;
  added.completed = true;
  added.force = true;
  added.answer = std::make_shared<answer>();
  EXPECT_EQ(decide_resolution(there(), added, now).outcome, resolve_outcome::already_completed);
}

TEST_F(decide_walk, a_settle_of_an_earlier_life_is_stale_after_a_later_one_has_expired) {
  const auto first = ask(1).lease;
  resolution freed;
  freed.force = true;
  stored = decide_resolution(there(), freed, now).write;
  end(ask(2).lease, settle_kind::complete);
  pass(48 * hour);
  ASSERT_TRUE(expired(*stored, now));
  for (const auto kind : {settle_kind::complete, settle_kind::fail, settle_kind::abandon}) {
    const auto late = decide_settle(there(), settle_of(first, kind), now);
    EXPECT_EQ(late.result.outcome, settle_outcome::stale);
    EXPECT_EQ(late.result.state, observed_state::unknown) << "what has expired is not told";
    EXPECT_FALSE(late.result.answer);
    EXPECT_FALSE(late.write);
  }
  stored.reset();  // swept: nothing tells any more
  EXPECT_EQ(end(first, settle_kind::complete).outcome, settle_outcome::incident);
}

TEST_F(decide_walk, an_operator_ends_the_lease_as_it_was_seen_and_none_that_was_renewed_since) {
  const auto held = ask(1).lease;
  pass(61'000);
  resolution change;
  change.token = held.token;
  change.revision = stored->deadline_lease;
  EXPECT_EQ(decide_resolution(there(), change, now).outcome, resolve_outcome::done);
  EXPECT_EQ(decide_resolution(there(), change, now, *change.revision + 1).outcome,
            resolve_outcome::changed)
      << "a store that counts its writes says which revision that is";
  stored = decide_extension(there(), extend_lease({}, held, milliseconds(30'000)), now).write;
  pass(200'000);
  for (const bool completed : {false, true}) {
    change.completed = completed;
    change.force = true;
    const auto refused = decide_resolution(there(), change, now);
    EXPECT_EQ(refused.outcome, resolve_outcome::changed);
    EXPECT_FALSE(refused.write);
  }
  change.revision = stored->deadline_lease;
  EXPECT_EQ(decide_resolution(there(), change, now).outcome, resolve_outcome::done);
  change.token = 0;
  EXPECT_FALSE(resolve_unreadable(change, now, 100).write);
}

TEST_F(decide_walk, an_act_for_what_was_in_doubt_is_none_for_what_provably_did_not_happen) {
  const auto held = ask(1).lease;
  pass(61'000);
  resolution change;
  change.token = held.token;
  change.revision = stored->deadline_lease;
  end(held, settle_kind::fail);
  for (const bool completed : {false, true}) {
    change.completed = completed;
    const auto refused = decide_resolution(there(), change, now);
    EXPECT_EQ(refused.outcome, resolve_outcome::changed);
    EXPECT_FALSE(refused.write);
  }
}

TEST_F(decide_walk, an_operator_ends_the_lease_that_was_seen_and_no_later_one) {
  resolution change;
  change.token = ask(1).lease.token;
  pass(61'000);
  EXPECT_EQ(decide_resolution(there(), change, now).outcome, resolve_outcome::done);
  resolve(false);
  EXPECT_EQ(decide_resolution(there(), change, now).outcome, resolve_outcome::not_found);
  ask(2);
  pass(61'000);
  for (const bool completed : {false, true}) {
    change.completed = completed;
    change.force = true;
    const auto refused = decide_resolution(there(), change, now);
    EXPECT_EQ(refused.outcome, resolve_outcome::changed);
    EXPECT_FALSE(refused.write);
    EXPECT_FALSE(resolve_unreadable(change, now, 100).write);
  }
}

// ---- retention of what is not settled

TEST_F(decide_walk, unknown_retention_counts_from_the_end_of_the_lease) {
  auto c = claim_of(1);
  c.unknown_retention = milliseconds(hour);
  ask(c);
  pass(hour);
  EXPECT_EQ(ask(2).kind, verdict_kind::unknown);
  pass(1'000);
  EXPECT_EQ(ask(2).kind, verdict_kind::run);
}

TEST_F(decide_walk, a_deadline_of_another_boot_is_over_for_every_sum) {
  constexpr std::int64_t long_over = -(std::int64_t{1} << 60);
  ask(1);
  stored->deadline_lease = long_over;
  stored->retry_at_lease = long_over;
  EXPECT_EQ(ask(2).kind, verdict_kind::unknown);
  EXPECT_EQ(resolve(false).outcome, resolve_outcome::done);
}

}  // namespace
}  // namespace onceguard
