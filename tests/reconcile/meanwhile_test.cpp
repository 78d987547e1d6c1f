// Reconciling while others act on the same record, and what stays in a record that is asked about.
#include "reconcile/reconcile_fixture.hpp"

namespace onceguard {
namespace {

TEST_F(reconcile_test, nobody_is_asked_about_a_later_attempt_whose_quiet_time_did_not_pass) {
  unknown("k");
  store.fail(store_call::claim, store_fault::delay_before, 1);
  begin_round([&] { return store.waiting() == 1; });
  auto again = claim_of(op("k"));
  again.unknown = unknown_policy::rerun;
  settle(again, claimed(again).lease, settle_kind::abandon, unknown_reason::upstream_timeout);
  store.let_go();
  EXPECT_EQ(end_of_round().left_alone, 1u);
  EXPECT_TRUE(source.questions.empty());
  EXPECT_EQ(find_record("k").state, observed_state::unknown);
}

/// Attempts are counted anew then: the second one of the later operation is none of the one listed.
TEST_F(reconcile_test, nobody_is_asked_about_a_later_operation_whose_quiet_time_did_not_pass) {
  auto listed = claim_of(op("k"));
  listed.unknown_retention = milliseconds(1);
  settle(listed, claimed(listed).lease, settle_kind::abandon);
  store.fail(store_call::list, store_fault::delay_after, 1);
  begin_round([&] { return store.waiting() == 1; });
  clock.advance(listed.unknown_retention);
  const auto later = claim_of(op("k"));
  const auto held = claimed(later).lease;
  ASSERT_EQ(held.attempt, 1u);
  clock.advance(later.lease);  // its holder still works
  const auto begun = base::boot_now();
  until([&] { return base::boot_now() - begun > 2 * listed.unknown_retention; });
  store.let_go();
  EXPECT_EQ(end_of_round().left_alone, 1u);
  EXPECT_TRUE(source.questions.empty());
  EXPECT_EQ(find_record("k").state, observed_state::unknown);
}

TEST_F(reconcile_test, an_operator_who_is_faster_has_the_last_word) {
  unknown("k");
  source.says = {{"k", effect_status::done}};
  source.gate = &gate;
  begin_round([&] { return source.questions["k"] == 1; });
  by_hand("k", true);
  gate.cancel();
  const auto counts = end_of_round();
  EXPECT_EQ(counts.left_alone, 1u);
  EXPECT_EQ(counts.done, 0u);
  EXPECT_EQ(found.at(0).kind, finding_kind::left_alone);
  EXPECT_EQ(find_record("k").stored.answer->status, 202);
}

/// Their keys, too: an effect that has been there for long is kept, although nobody rolls it back.
TEST_F(reconcile_test, an_effect_is_kept_although_an_operator_released_its_key_meanwhile) {
  for (const std::string kind : {"application", "credential"}) {
    const auto key = "of " + kind;
    unknown(key, unknown_reason::holder_gone, kind);
    source.says = {{key, effect_status::done}};
    source.gate = &gate;
    begin_round([&] { return source.questions[key] == 1; });
    by_hand(key, false);
    gate.cancel();
    EXPECT_EQ(end_of_round().done, 1u) << kind;
    ended_.reset();
    const auto seen = find_record(key);
    EXPECT_EQ(seen.state, observed_state::completed) << kind;
    EXPECT_TRUE(seen.stored.incident) << kind;
  }
}

TEST_F(reconcile_test, a_key_that_became_free_is_never_in_doubt) {
  unknown("k");
  store.fail(store_call::claim, store_fault::delay_before, 1);
  store.fail(store_call::settle, store_fault::before);
  begin_round([&] { return store.waiting() == 1; });
  by_hand("k", false);
  store.let_go();
  until([&] { return ended_.has_value(); });
  EXPECT_FALSE(*ended_) << "it could not be given back";
  EXPECT_EQ(find_record("k").state, observed_state::started) << "nothing was sent under this lease";
}

TEST_F(reconcile_test, the_lease_is_renewed_while_the_source_works) {
  unknown("k");
  source.says = {{"k", effect_status::done}};
  source.gate = &gate;
  params.lease = milliseconds(1'500);
  begin_round([&] { return store.made(store_call::extend) >= 3; });
  gate.cancel();
  EXPECT_EQ(end_of_round().done, 1u);
  const auto renewals = store.made(store_call::extend);
  io.restart();
  io.run_for(std::chrono::milliseconds(700));
  EXPECT_EQ(store.made(store_call::extend), renewals) << "its work is done";
}

TEST_F(reconcile_test, a_record_keeps_its_unknown_retention) {
  auto question = claim_of(op("k"));
  question.unknown_retention = std::chrono::hours(1);
  settle(question, claimed(question).lease, settle_kind::abandon);
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found.at(0).kind, finding_kind::still_unknown);
  EXPECT_EQ(find_record("k").retention_left, std::chrono::hours(1));
}

TEST_F(reconcile_test, an_answer_that_nobody_knows_may_be_added_by_hand) {
  unknown("k");
  source.says = {{"k", effect_status::done}};
  source.knows_answers = false;
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(find_record("k").state, observed_state::completed);
  EXPECT_EQ(find_record("k").stored.kept, answer_kept::none);
  by_hand("k", true);
  EXPECT_EQ(find_record("k").stored.kept, answer_kept::full);
}

TEST_F(reconcile_test, what_was_done_is_kept_for_the_retention_of_its_route) {
  unknown("k");
  source.says = {{"k", effect_status::done}};
  choice.retention = std::chrono::hours(2);
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(find_record("k").retention_left, std::chrono::hours(2));
}

TEST_F(reconcile_test, an_answer_of_an_earlier_attempt_ends_no_quiet_time_of_a_later_one) {
  unknown("k", unknown_reason::upstream_status);
  auto again = claim_of(op("k"));
  again.unknown = unknown_policy::rerun;
  ASSERT_EQ(claimed(again).kind, verdict_kind::run);
  clock.advance(again.lease);  // nobody knows where its request is
  choice.quiet = milliseconds(60'000);
  source.says = {{"k", effect_status::not_done}};
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found.at(0).kind, finding_kind::too_early);
  EXPECT_EQ(found.at(0).retry_after, choice.quiet);
  EXPECT_TRUE(source.questions.empty());
}

TEST_F(reconcile_test, who_asks_without_a_fence_waits_since_the_claim) {
  unknown("k");
  choice.probe_after = milliseconds(60'000);
  source.says = {{"k", effect_status::not_done}};
  clock.advance(milliseconds(59'999));
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found.at(0).kind, finding_kind::too_early);
  EXPECT_EQ(found.at(0).retry_after, milliseconds(1));
  EXPECT_TRUE(source.questions.empty());
  clock.advance(milliseconds(1));
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found.at(1).kind, finding_kind::not_done);
}

}  // namespace
}  // namespace onceguard
