// The state table, row by row, which every store must follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::AnyOf;

using state_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, state_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(state_contract, a_first_claim_runs_and_a_later_claim_is_replayed) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  EXPECT_EQ(held.attempt, 1u);
  EXPECT_EQ(held.claim_id, request.claim_id);
  EXPECT_FALSE(held.probe);
  caller_.settle(settle_of(request, held));
  const auto repeat = caller_.claim(claim_of("k"));
  ASSERT_EQ(repeat.kind, verdict_kind::replay);
  EXPECT_EQ(*repeat.answer, *answer_of());
  EXPECT_THAT(repeat.retention_left, AnyOf(day, std::min(day, delegate_->memory_limit())));
}

TEST_P(state_contract, an_answer_is_kept_byte_for_byte) {
  for (const std::size_t size : {0u, 1u, 65'536u, 1'048'576u}) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 7 + (i >> 8));
    const auto request = claim_of("k" + std::to_string(size));
    auto change = settle_of(request, caller_.leased(request));
    change.answer = answer_of(body);
    caller_.settle(change);
    const auto repeat = caller_.claim(claim_of(request.about->key));
    ASSERT_EQ(repeat.kind, verdict_kind::replay);
    EXPECT_TRUE(*repeat.answer == *change.answer) << size;
  }
}

TEST_P(state_contract, a_record_completed_without_an_answer_tells_why_there_is_none) {
  const auto request = claim_of("k");
  auto change = settle_of(request, caller_.leased(request));
  change.answer = nullptr;
  change.kept = answer_kept::too_large;
  caller_.settle(change);
  const auto repeat = caller_.claim(claim_of("k"));
  EXPECT_EQ(repeat.kind, verdict_kind::replay);
  EXPECT_EQ(repeat.answer, nullptr);
  EXPECT_EQ(repeat.kept, answer_kept::too_large);
}

TEST_P(state_contract, a_second_claim_is_busy_for_the_rest_of_the_lease) {
  caller_.leased(claim_of("k"));
  advance(second);
  const auto other = caller_.claim(claim_of("k"));
  EXPECT_EQ(other.kind, verdict_kind::busy);
  EXPECT_EQ(other.retry_after, lease_length - second);
}

TEST_P(state_contract, a_repeated_claim_gets_the_same_lease) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  EXPECT_EQ(caller_.leased(request), held);
  EXPECT_EQ(caller_.seen(request.id).stored.attempt, 1u);
}

TEST_P(state_contract, another_fingerprint_is_a_mismatch_in_every_state) {
  const auto expect_mismatch = [&](const char* where) {
    EXPECT_EQ(caller_.claim(claim_of("k", "other")).kind, verdict_kind::mismatch) << where;
  };
  auto request = claim_of("k");
  request.into_started = true;
  auto held = caller_.leased(request);
  expect_mismatch("started");
  caller_.extend(extend_of(request, held, true));
  expect_mismatch("in progress");
  caller_.settle(settle_of(request, held, settle_kind::fail));
  expect_mismatch("failed");
  advance(second);
  request = claim_of("k");
  held = caller_.leased(request);
  advance(lease_length);
  expect_mismatch("unknown");
  caller_.settle(settle_of(request, held));
  expect_mismatch("completed");
}

TEST_P(state_contract, a_fingerprint_of_another_method_must_be_remade) {
  caller_.leased(claim_of("k"));
  auto other = claim_of("k");
  other.about = subject_of("k", "body", "json omit /nonce");
  const auto verdict = caller_.claim(other);
  EXPECT_EQ(verdict.kind, verdict_kind::remake_fingerprint);
  EXPECT_EQ(verdict.fingerprint_method, "exact");
}

TEST_P(state_contract, a_started_record_is_taken_over_after_its_lease) {
  auto request = claim_of("k");
  request.into_started = true;
  const auto first = caller_.leased(request);
  EXPECT_TRUE(first.started);
  advance(lease_length);
  const auto second_claim = claim_of("k");
  const auto next = caller_.leased(second_claim);
  EXPECT_GT(next.token, first.token);
  EXPECT_EQ(next.attempt, 2u);
  // The first holder is superseded now, and may neither dispatch nor settle.
  EXPECT_FALSE(caller_.extend(extend_of(request, first, true)));
  EXPECT_EQ(caller_.settle(settle_of(request, first)).outcome, settle_outcome::stale);
}

TEST_P(state_contract, a_record_in_progress_becomes_unknown_after_its_lease_and_is_held) {
  const auto request = claim_of("k");
  caller_.leased(request);
  advance(lease_length);
  const auto verdict = caller_.claim(claim_of("k"));
  EXPECT_EQ(verdict.kind, verdict_kind::unknown);
  EXPECT_EQ(verdict.why, unknown_reason::holder_gone);
  EXPECT_EQ(verdict.since, lease_length);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::unknown);
}

TEST_P(state_contract, an_unknown_record_runs_again_only_with_the_rerun_policy) {
  const auto first_claim = claim_of("k");
  const auto first = caller_.leased(first_claim);
  advance(lease_length);
  auto again = claim_of("k");
  again.unknown = unknown_policy::rerun;
  const auto next = caller_.leased(again);
  EXPECT_GT(next.token, first.token);
  EXPECT_EQ(caller_.settle(settle_of(first_claim, first)).outcome, settle_outcome::stale);
  EXPECT_EQ(caller_.settle(settle_of(again, next)).outcome, settle_outcome::done);
}

TEST_P(state_contract, a_probe_gets_a_new_token_blocks_other_probes_and_may_then_run) {
  const auto first_claim = claim_of("k");
  const auto first = caller_.leased(first_claim);
  advance(lease_length);
  auto asker = claim_of("k");
  asker.unknown = unknown_policy::probe;
  const auto probe = caller_.leased(asker);
  EXPECT_TRUE(probe.probe);
  EXPECT_GT(probe.token, first.token);
  auto other = claim_of("k");
  other.unknown = unknown_policy::probe;
  EXPECT_EQ(caller_.claim(other).kind, verdict_kind::busy);
  EXPECT_TRUE(caller_.extend(extend_of(asker, probe, true)));
  EXPECT_EQ(caller_.seen(asker.id).state, observed_state::in_progress);
  EXPECT_EQ(caller_.settle(settle_of(asker, probe)).outcome, settle_outcome::done);
}

TEST_P(state_contract, what_runs_after_a_probe_is_as_young_as_its_own_beginning) {
  const auto asker = [] {
    auto out = claim_of("k");
    out.unknown = unknown_policy::probe;
    out.probe_after = 600 * second;
    return out;
  };
  const auto first = asker();
  caller_.settle(settle_of(first, caller_.leased(first), settle_kind::abandon));
  advance(600 * second);
  const auto second_try = asker();
  const auto lease = caller_.leased(second_try);
  ASSERT_TRUE(caller_.extend(extend_of(second_try, lease, true)));
  caller_.settle(settle_of(second_try, lease, settle_kind::abandon));
  const auto early = caller_.claim(asker());
  EXPECT_EQ(early.kind, verdict_kind::unknown);
  EXPECT_GT(early.retry_after, 500 * second);
}

TEST_P(state_contract, a_record_is_unknown_again_after_the_lease_of_its_probe) {
  caller_.leased(claim_of("k"));
  advance(lease_length);
  auto asker = claim_of("k");
  asker.unknown = unknown_policy::probe;
  caller_.leased(asker);
  advance(lease_length);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::unknown);
}

TEST_P(state_contract, an_abandoned_record_is_unknown_at_once_and_probed_after_its_pause) {
  const auto request = claim_of("k");
  auto change = settle_of(request, caller_.leased(request), settle_kind::abandon);
  change.why = unknown_reason::upstream_status;
  change.why_status = 500;
  change.probe_pause = second;
  EXPECT_EQ(caller_.settle(change).outcome, settle_outcome::done);
  auto asker = claim_of("k");
  asker.unknown = unknown_policy::probe;
  const auto verdict = caller_.claim(asker);
  EXPECT_EQ(verdict.kind, verdict_kind::unknown);
  EXPECT_EQ(verdict.why, unknown_reason::upstream_status);
  EXPECT_EQ(verdict.why_status, 500);
  EXPECT_EQ(verdict.retry_after, second);
  advance(second);
  EXPECT_TRUE(caller_.leased(asker).probe);
}

TEST_P(state_contract, a_failed_record_backs_off_and_then_runs_again) {
  auto request = claim_of("k");
  auto change = settle_of(request, caller_.leased(request), settle_kind::fail);
  caller_.settle(change);
  const auto verdict = caller_.claim(claim_of("k"));
  EXPECT_EQ(verdict.kind, verdict_kind::backoff);
  EXPECT_EQ(verdict.retry_after, second);
  advance(second);
  request = claim_of("k");
  const auto held = caller_.leased(request);
  EXPECT_EQ(held.attempt, 2u);
  caller_.settle(settle_of(request, held, settle_kind::fail));
  EXPECT_EQ(caller_.claim(claim_of("k")).retry_after, 2 * second);
}

TEST_P(state_contract, a_released_record_accepts_another_fingerprint_and_refuses_its_former_claim) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  EXPECT_EQ(caller_.settle(settle_of(request, held, settle_kind::release)).outcome,
            settle_outcome::done);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::released);
  EXPECT_EQ(caller_.claim(request).kind, verdict_kind::refused);
  const auto next = caller_.leased(claim_of("k", "other"));
  EXPECT_GT(next.token, held.token);
  EXPECT_EQ(next.attempt, 2u);
}

TEST_P(state_contract, a_release_by_claim_id_alone_ends_only_the_lease_of_that_claim) {
  const auto request = claim_of("k");
  caller_.leased(request);
  settlement change;
  change.id = request.id;
  change.kind = settle_kind::release;
  change.claim_id = claim_of("k").claim_id;
  caller_.settle(change);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::in_progress);
  change.claim_id = request.claim_id;
  caller_.settle(change);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::released);
}

TEST_P(state_contract, a_claim_that_arrives_after_its_release_is_refused) {
  const auto request = claim_of("k");
  settlement change;
  change.id = request.id;
  change.kind = settle_kind::release;
  change.claim_id = request.claim_id;
  change.about = request.about;
  caller_.settle(change);
  EXPECT_EQ(caller_.claim(request).kind, verdict_kind::refused);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_P(state_contract, a_claim_that_arrives_after_its_release_is_refused_over_an_expired_record) {
  const auto first = claim_of("k");
  const auto held = caller_.leased(first);
  caller_.settle(settle_of(first, held));
  advance(day + second);
  const auto request = claim_of("k");
  settlement change;
  change.id = request.id;
  change.kind = settle_kind::release;
  change.claim_id = request.claim_id;
  change.about = request.about;
  caller_.settle(change);
  EXPECT_EQ(caller_.claim(request).kind, verdict_kind::refused);
  EXPECT_GT(caller_.leased(claim_of("k")).token, held.token);
}

TEST_P(state_contract, a_repeated_settle_is_done_and_changes_nothing) {
  for (const auto kind : {settle_kind::complete, settle_kind::fail, settle_kind::release}) {
    const auto request = claim_of("k" + std::to_string(static_cast<int>(kind)));
    const auto change = settle_of(request, caller_.leased(request), kind);
    EXPECT_EQ(caller_.settle(change).outcome, settle_outcome::done);
    const auto before = caller_.seen(request.id).stored.settled_at_wall;
    advance(second);
    EXPECT_EQ(caller_.settle(change).outcome, settle_outcome::done);
    EXPECT_EQ(caller_.seen(request.id).stored.settled_at_wall, before);
  }
}

TEST_P(state_contract, a_late_holder_that_was_not_superseded_still_renews_and_settles) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  advance(2 * lease_length);
  EXPECT_TRUE(caller_.extend(extend_of(request, held)));
  EXPECT_EQ(caller_.claim(claim_of("k")).retry_after, lease_length);
  advance(2 * lease_length);
  EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::done);
}

TEST_P(state_contract, a_renewal_after_an_abandon_is_refused_and_revives_no_lease) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  EXPECT_TRUE(caller_.extend(extend_of(request, held)));
  caller_.settle(settle_of(request, held, settle_kind::abandon));
  EXPECT_FALSE(caller_.extend(extend_of(request, held)));
  EXPECT_FALSE(caller_.extend(extend_of(request, held, true)));
  EXPECT_EQ(caller_.find(request.id)->state, observed_state::unknown);
  auto again = claim_of("k");
  again.unknown = unknown_policy::rerun;
  const auto next = caller_.leased(again);
  EXPECT_TRUE(caller_.extend(extend_of(again, next)));
  EXPECT_EQ(caller_.settle(settle_of(again, next)).outcome, settle_outcome::done);
}

TEST_P(state_contract, token_and_claim_id_must_both_match) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  auto wrong = held;
  wrong.token += 1;
  EXPECT_EQ(caller_.settle(settle_of(request, wrong)).outcome, settle_outcome::stale);
  EXPECT_FALSE(caller_.extend(extend_of(request, wrong)));
  wrong = held;
  wrong.claim_id[0] = static_cast<unsigned char>(wrong.claim_id[0] ^ 1);
  EXPECT_EQ(caller_.settle(settle_of(request, wrong)).outcome, settle_outcome::stale);
  EXPECT_FALSE(caller_.extend(extend_of(request, wrong)));
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::in_progress);
}

TEST_P(state_contract, a_stale_holder_gets_the_state_and_the_answer_of_the_record) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  advance(lease_length);
  auto again = claim_of("k");
  again.unknown = unknown_policy::rerun;
  caller_.completed(again);
  const auto reply = caller_.settle(settle_of(request, held));
  EXPECT_EQ(reply.outcome, settle_outcome::stale);
  EXPECT_EQ(reply.state, observed_state::completed);
  EXPECT_EQ(*reply.answer, *answer_of());
}

TEST_P(state_contract, a_completion_without_a_record_writes_a_record_and_is_an_incident) {
  const auto request = claim_of("k");
  lease held;
  held.token = 7;
  held.claim_id = request.claim_id;
  EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::incident);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_TRUE(caller_.seen(request.id).stored.incident);
}

TEST_P(state_contract, a_completion_of_a_lease_that_an_operator_released_is_an_incident) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  resolution change;
  change.id = request.id;
  change.force = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::incident);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing
