// The tiered store on two memory stores: which level is called, and what keeps working when one
// level fails.
#include "store/tiered/fixture.hpp"

namespace onceguard::testing {
namespace {

using tiered_store_test = tiered_fixture;

TEST_F(tiered_store_test, replays_and_busy_duplicates_do_not_reach_the_truth) {
  process one(*this), other(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  const auto twin = other.caller->claim(claim_of("k"));
  EXPECT_EQ(twin.kind, verdict_kind::busy);
  EXPECT_EQ(twin.retry_after, lease_length);
  EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  for (auto* each : {&one, &other}) {
    const auto verdict = each->caller->claim(claim_of("k"));
    ASSERT_EQ(verdict.kind, verdict_kind::replay);
    EXPECT_EQ(*verdict.answer, *answer_of());
    EXPECT_EQ(verdict.retention_left, fresh_for);
  }
  EXPECT_EQ(one.truth->claims_made, 1);
  EXPECT_EQ(other.truth->claims_made, 0);
  EXPECT_EQ(one.store->counters().replays, 1u);
  EXPECT_EQ(other.store->counters().busy, 1u);
  EXPECT_EQ(one.store->traits().name, "tiered");
}

TEST_F(tiered_store_test, only_the_truth_decides_claims_that_are_neither_replayed_nor_busy) {
  process one(*this);
  one.caller->completed(claim_of("completed"));
  EXPECT_EQ(one.caller->claim(claim_of("completed", "other")).kind, verdict_kind::mismatch);

  const auto failed = claim_of("failed");
  one.caller->settle(settle_of(failed, one.caller->leased(failed), settle_kind::fail));
  EXPECT_EQ(one.caller->claim(claim_of("failed")).kind, verdict_kind::backoff);
  EXPECT_EQ(one.caller->claim(claim_of("failed")).kind, verdict_kind::backoff);

  const auto lost = claim_of("lost");
  one.caller->settle(settle_of(lost, one.caller->leased(lost), settle_kind::abandon));
  EXPECT_EQ(one.caller->claim(claim_of("lost")).kind, verdict_kind::unknown);
  EXPECT_EQ(one.caller->claim(claim_of("lost")).kind, verdict_kind::unknown);

  const auto released = claim_of("released");
  one.caller->settle(settle_of(released, one.caller->leased(released), settle_kind::release));
  EXPECT_EQ(one.caller->claim(released).kind, verdict_kind::refused);
  EXPECT_EQ(one.caller->claim(claim_of("released", "other")).kind, verdict_kind::run);
}

TEST_F(tiered_store_test, a_batch_reaches_the_truth_as_one_batch) {
  process one(*this);
  one.caller->completed(claim_of("known"));
  const int before = one.truth->claims_made;
  const auto reply = one.caller->claims(
      {claim_of("a"), claim_of("known"), claim_of("b"), claim_of("a"), claim_of("known", "other")});
  EXPECT_EQ(reply[0]->kind, verdict_kind::run);
  EXPECT_EQ(reply[1]->kind, verdict_kind::replay);
  EXPECT_EQ(reply[2]->kind, verdict_kind::run);
  EXPECT_EQ(reply[3]->kind, verdict_kind::busy);
  EXPECT_EQ(reply[4]->kind, verdict_kind::mismatch);
  EXPECT_EQ(one.truth->claims_made, before + 1);
}

TEST_F(tiered_store_test, two_claims_of_one_key_in_a_batch_are_both_replayed) {
  truth_caller_.completed(claim_of("k"));
  process one(*this);
  const auto reply = one.caller->claims({claim_of("k"), claim_of("k")});
  EXPECT_EQ(reply[0]->kind, verdict_kind::replay);
  EXPECT_EQ(reply[1]->kind, verdict_kind::replay);
}

TEST_F(tiered_store_test, an_answer_of_the_truth_is_copied_with_its_remaining_retention) {
  truth_caller_.completed(claim_of("k"));  // by a process that has no accelerator
  clock_.advance(second);
  fast_clock_.advance(second);
  process one(*this);
  EXPECT_EQ(one.caller->claim(claim_of("k")).retention_left, day - second);
  const auto verdict = one.caller->claim(claim_of("k"));
  EXPECT_EQ(one.truth->claims_made, 1);
  EXPECT_EQ(copy_of(claim_of("k"))->retention_left, day - second);
  EXPECT_EQ(*verdict.answer, *answer_of());
  clock_.advance(day - second);
  fast_clock_.advance(day - second);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_store_test, a_completion_without_an_answer_makes_no_copy) {
  process one(*this);
  const auto request = claim_of("k");
  auto change = settle_of(request, one.caller->leased(request));
  change.answer = nullptr;
  change.kept = answer_kept::none;
  change.by_application = true;
  one.caller->settle(change);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kept, answer_kept::none);
  const auto after = settle_of(request, {.token = change.token, .claim_id = change.claim_id});
  EXPECT_EQ(one.caller->settle(after).outcome, settle_outcome::done);  // the holder adds its answer
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*one.caller->claim(claim_of("k")).answer, *answer_of());
  }
}

TEST_F(tiered_store_test, the_answer_of_the_application_is_copied) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  auto placed_marker = settle_of(request, held);
  placed_marker.by_application = true;
  placed_marker.answer = answer_of("by the application");
  truth_caller_.settle(placed_marker);
  EXPECT_EQ(one.caller->settle(settle_of(request, held)).answer->body, "by the application");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.caller->claim(claim_of("k")).answer->body, "by the application");
  }
  EXPECT_EQ(one.truth->claims_made, 2);
}

TEST_F(tiered_store_test, a_copy_of_the_applications_answer_expires_with_its_record) {
  process one(*this);
  for (const auto kept : {answer_kept::full, answer_kept::none}) {
    const auto request = claim_of(kept == answer_kept::full ? "with its answer" : "without");
    const auto held = one.caller->leased(request);
    auto placed_marker = settle_of(request, held);
    placed_marker.by_application = true;
    placed_marker.kept = kept;
    if (kept == answer_kept::none) placed_marker.answer = nullptr;
    placed_marker.retention = second;
    truth_caller_.settle(placed_marker);
    EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
    EXPECT_EQ(one.caller->claim(claim_of(request.about->key)).kind, verdict_kind::replay);
    for (auto* clock : {&clock_, &fast_clock_}) clock->advance(second);
    EXPECT_EQ(one.caller->claim(claim_of(request.about->key)).kind, verdict_kind::run);
  }
}

TEST_F(tiered_store_test, a_settle_in_doubt_makes_no_copy) {
  process one(*this);
  const auto request = claim_of("k");
  auto change = settle_of(request, one.caller->leased(request));
  one.truth->settles = health::late;
  EXPECT_FALSE(one.caller->settles({change}).at(0));
  one.truth->settles = health::well;
  change.answer = answer_of("less, as there was no room to keep all of it");
  change.kept = answer_kept::status_only;
  EXPECT_EQ(one.caller->settle(change).outcome, settle_outcome::done);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*one.caller->claim(claim_of("k")).answer, *answer_of());
  }
}

TEST_F(tiered_store_test, the_answer_of_a_superseded_holder_is_not_copied) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  resolution change;
  change.id = request.id;
  change.force = true;
  truth_caller_.resolve(change);  // by another process, which also has the next lease
  truth_caller_.leased(claim_of("k"));
  EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::stale);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
}

TEST_F(tiered_store_test, a_repeat_of_a_claim_in_doubt_goes_to_the_truth) {
  process one(*this);
  const auto request = claim_of("k");
  one.truth->claims = health::late;
  EXPECT_EQ(one.caller->try_claim(request).error().effect, effect::unknown);
  one.truth->claims = health::well;
  marker(request);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
  EXPECT_EQ(one.caller->leased(repeat_of(request)).claim_id, request.claim_id);
}

TEST_F(tiered_store_test, a_repeated_claim_sets_no_marker_that_outlasts_its_lease) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->leased(request);
  for (auto* clock : {&clock_, &fast_clock_}) clock->advance(std::chrono::hours(1));
  EXPECT_EQ(one.caller->leased(repeat_of(request)).attempt, 1u);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::unknown);
}

TEST_F(tiered_store_test, renewals_reach_both_levels) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  for (auto* clock : {&clock_, &fast_clock_}) clock->advance(lease_length - second);
  EXPECT_TRUE(one.caller->extend(extend_of(request, held)));
  for (auto* clock : {&clock_, &fast_clock_}) clock->advance(2 * second);
  EXPECT_EQ(one.caller->claim(claim_of("k")).retry_after, lease_length - 2 * second);
  EXPECT_EQ(one.truth->claims_made, 1);
}

TEST_F(tiered_store_test, a_marker_that_could_not_be_renewed_is_removed) {
  process one(*this), other(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  for (auto* clock : {&clock_, &fast_clock_}) clock->advance(lease_length - second);
  one.distrust();
  EXPECT_TRUE(one.caller->extend(extend_of(request, held)));
  one.fast->all = health::well;
  one.wait_until_trusted();
  EXPECT_EQ(one.caller->claim(claim_of("k")).retry_after, lease_length);
  wait_until("the marker to go",
             [&] { return copy_of(request)->state != observed_state::in_progress; });
  EXPECT_EQ(other.caller->claim(claim_of("k")).retry_after, lease_length);
}

TEST_F(tiered_store_test, a_refused_renewal_of_a_superseded_holder_removes_its_marker) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  resolution change;
  change.id = request.id;
  change.force = true;
  truth_caller_.resolve(change);  // by another process
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
  EXPECT_FALSE(one.caller->extend(extend_of(request, held)));
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_store_test, an_old_marker_is_ignored_after_the_settle_is_announced) {
  process one(*this);
  std::vector<std::uint64_t> both_answered;
  one.store->on_settled(
      [&](const std::vector<std::uint64_t>& settled) { both_answered = settled; });
  const auto request = claim_of("k");
  truth_caller_.completed(request);
  marker(request);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < sizeof prefix; ++i) prefix = prefix << 8 | request.id[i];
  one.truth->announce({prefix});
  EXPECT_EQ(both_answered, std::vector<std::uint64_t>{prefix});
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  one.store->on_settled(nullptr);
}

// --- without the accelerator ------------------------------------------------------------------

TEST_F(tiered_store_test, an_unreachable_accelerator_is_no_longer_called) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  one.fast->all = health::unreachable;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  }
  wait_until("the breaker", [&] { return one.store->counters().outages == 1; });
  const int made = one.fast->claims_made;
  one.caller->completed(claim_of("new"));
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.fast->claims_made, made);

  one.fast->all = health::well;
  one.wait_until_trusted();
  const int number = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, number);
}

TEST_F(tiered_store_test, one_shard_that_fails_leaves_the_circuit_breaker_closed) {
  process one(*this);
  one.wait_until_trusted();
  one.caller->completed(claim_of("a"));
  one.caller->completed(claim_of("b"));
  one.fast->first_of_each_lost = true;
  for (int i = 0; i < 10; ++i) {
    const auto replies = one.caller->claims({claim_of("a"), claim_of("b")});
    EXPECT_EQ(replies[0]->kind, verdict_kind::replay);  // by the truth
    EXPECT_EQ(replies[1]->kind, verdict_kind::replay);
  }
  EXPECT_EQ(one.store->counters().outages, 0u);
  EXPECT_TRUE(one.store->trusts());
  const int number = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("b")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, number);
}

TEST_F(tiered_store_test, a_marker_that_could_not_be_removed_is_ignored_and_removed_later) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  one.fast->settles = health::unreachable;
  one.caller->settle(settle_of(request, held));
  ASSERT_EQ(copy_of(request)->state, observed_state::in_progress);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  one.fast->settles = health::well;
  wait_until("the marker to go",
             [&] { return copy_of(request)->state != observed_state::in_progress; });
}

TEST_F(tiered_store_test, a_marker_that_is_removed_while_a_claim_is_answered_is_ignored) {
  process one(*this);
  const auto request = claim_of("k");
  auto change = settle_of(request, one.caller->leased(request));
  change.kind = settle_kind::release;
  one.fast->settles = health::unreachable;
  one.caller->settle(change);
  std::atomic<bool> answered{false};
  one.fast->before_reply = [&] {
    if (answered.exchange(true)) return;
    // The accelerator has said busy. Before the store reads the reply, the monitor removes the
    // marker, and forgets that the marker was outdated.
    one.fast->settles = health::well;
    wait_until("the marker to go", [&] {
      one.store->poll_now();
      return copy_of(request)->state != observed_state::in_progress;
    });
    const int polls = one.fast->polls;
    wait_until("the poll after the removal", [&] {
      one.store->poll_now();
      return one.fast->polls > polls + 1;
    });
  };
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST(tiered_marker_table_test, what_comes_to_be_removed_during_a_removal_is_removed_by_the_next) {
  tiered::marker_table table;
  const auto first = claim_of("k"), second = claim_of("k");
  table.remove_later({first.id, first.about, first.claim_id});
  table.clear_later(first.id);
  const auto left = table.leftovers(1);
  const auto ended = table.records_to_clear(1);
  table.remove_later({second.id, second.about, second.claim_id});
  table.clear_later(second.id);
  table.leftover_removed(left[0]);
  table.record_cleared(ended[0]);
  ASSERT_EQ(table.removals_waiting(), 2u);
  table.leftover_removed(table.leftovers(1)[0]);
  table.record_cleared(table.records_to_clear(1)[0]);
  EXPECT_EQ(table.removals_waiting(), 0u);
}

TEST_F(tiered_store_test, accelerator_calls_in_doubt_are_rolled_back) {
  process one(*this), other(*this);
  for (const auto* key : {"claim", "settle"}) {
    const auto request = claim_of(key);
    auto& late = key == std::string("claim") ? one.fast->claims : one.fast->settles;
    late = health::late;
    const auto held = one.caller->leased(request);
    EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
    EXPECT_EQ(one.caller->claim(claim_of(key)).kind, verdict_kind::replay);
    late = health::well;
    wait_until("a reading of the accelerator", [&] {
      one.store->poll_now();
      const auto left = copy_of(request);
      return !left || left->state == observed_state::completed ||
             left->state == observed_state::released;
    });
    EXPECT_EQ(other.caller->claim(claim_of(key)).kind, verdict_kind::replay);
  }
}

TEST_F(tiered_store_test, an_accelerator_is_opened_once_it_is_reachable) {
  const error away(errc::store_unreachable, "not there yet");
  no_accelerator_ = &away;
  process one(*this);
  EXPECT_FALSE(one.store->trusts());
  one.caller->completed(claim_of("k"));
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  no_accelerator_ = nullptr;
  one.wait_until_trusted();
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_TRUE(copy_of(claim_of("k")));
}

TEST_F(tiered_store_test, an_unsuitable_accelerator_is_refused) {
  const error wrong(errc::invalid_argument, "it is no accelerator");
  no_accelerator_ = &wrong;
  EXPECT_THROW(process{*this}, std::runtime_error);
}

// --- without the truth --------------------------------------------------------------------------

TEST_F(tiered_store_test, no_new_operation_runs_without_the_truth) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  const auto request = claim_of("new");
  const auto slot = slot_of(request);
  one.truth->all = health::unreachable;
  metadata_.out = true;
  EXPECT_EQ(one.caller->try_claim(request).error().code, errc::store_unreachable);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  const auto left = fast_caller_.find(slot);
  EXPECT_TRUE(!left || left->state == observed_state::released) << "a marker was left";
  one.truth->all = health::well;
  EXPECT_EQ(one.caller->claim(request).kind, verdict_kind::run);
}

}  // namespace
}  // namespace onceguard::testing
