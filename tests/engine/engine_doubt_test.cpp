// The engine in doubt: asking the application, a store that lost its memory, shutdown.
#include "engine/engine_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

// ---- asking

class engine_that_asks : public engine_over_faults {
 protected:
  void SetUp() override {
    engine_over_faults::SetUp();
    counted_work lost;
    lost.ends = settle_kind::abandon;
    execute(lost);
    policy.unknown = unknown_policy::probe;
  }
};

TEST_F(engine_that_asks, an_operation_reported_done_is_stored_and_replayed) {
  counted_work w;
  w.says = effect_status::done;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::replay);
  EXPECT_EQ(out.answer->status, 204);
  EXPECT_EQ(execute(w).kind, outcome_kind::replay);
  EXPECT_EQ(w.questions, 1);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(engine_that_asks, an_operation_reported_not_done_runs) {
  counted_work w;
  w.says = effect_status::not_done;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_that_asks, an_unknown_outcome_is_not_probed_again_at_once) {
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::unknown);
  EXPECT_TRUE(out.probed);
  EXPECT_EQ(execute(w).kind, outcome_kind::unknown);
  EXPECT_EQ(w.questions, 1);
  clock.advance(milliseconds(1'000));
  execute(w);
  EXPECT_EQ(w.questions, 2);
  EXPECT_EQ(w.runs, 0);
}

// ---- loss of the store's memory

TEST_F(engine_over_faults, a_store_that_lost_its_memory_gets_no_new_claims_for_a_while) {
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "another";
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::store_lost);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(tested->counters().losses, 1u);
}

TEST_F(engine_over_faults, a_key_that_was_taken_runs_nothing_unguarded_once_the_store_is_away) {
  policy.store_failure = store_failure_rule::open;
  counted_work w;
  auto wanted = op();
  wanted.claim.emplace();
  store.say_busy(1);
  store.fail(store_call::claim, store_fault::before, 10);
  const auto kind = execute(w, wanted).kind;
  EXPECT_TRUE(kind == outcome_kind::busy || kind == outcome_kind::store_failed);
  EXPECT_EQ(w.runs + w.unguarded, 0);
}

TEST_F(engine_over_faults, who_waits_for_a_twin_runs_nothing_unguarded_once_the_store_is_away) {
  policy.store_failure = store_failure_rule::open;
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(60'000);
  counted_work w;
  store.say_busy(1);
  store.fail(store_call::claim, store_fault::before, 10);
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  EXPECT_EQ(w.runs + w.unguarded, 0);
}

TEST_F(engine_over_faults, nothing_is_claimed_before_the_store_was_answered) {
  const testing::temporary_folder folder;
  params.state_dir = folder.path().string();
  make();
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "another";
  store.pretend(*seen);
  store.fail(store_call::vitals, store_fault::before);
  tested = std::make_unique<engine>(store, params, budget);
  EXPECT_FALSE(run(io, tested->poll_store()));
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::store_unreachable);
  store.heal(store_call::vitals);
  EXPECT_EQ(execute(w).failure.code, errc::store_lost);
  EXPECT_EQ(tested->counters().losses, 1u);
  EXPECT_EQ(store.made(store_call::claim), 0u);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(engine_over_faults, claims_before_the_store_has_answered_share_one_poll) {
  tested = std::make_unique<engine>(store, params, budget);
  const auto polls = store.made(store_call::vitals);
  store.fail(store_call::vitals, store_fault::delay_before);
  counted_work w;
  int ran = 0;
  auto count = [&](std::exception_ptr, const outcome& got) {
    if (got.kind == outcome_kind::ran) ++ran;
  };
  for (int i = 0; i < 20; ++i) {
    asio::co_spawn(io, operate(*tested, io, op("key " + std::to_string(i)), w), count);
  }
  until([&] { return store.waiting() > 0; });
  io.poll();
  EXPECT_EQ(store.made(store_call::claim), 0u);
  store.heal(store_call::vitals);
  store.let_go();
  until([&] { return ran == 20; });
  EXPECT_EQ(store.made(store_call::vitals), polls + 1);
}

TEST_F(engine_over_faults, fail_open_goes_on_also_before_the_store_was_answered) {
  policy.store_failure = store_failure_rule::open;
  store.fail(store_call::vitals, store_fault::before);
  tested = std::make_unique<engine>(store, params, budget);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::unguarded);
  EXPECT_EQ(w.unguarded, 1);
  EXPECT_EQ(store.made(store_call::claim), 0u);
}

TEST_F(engine_over_faults, after_a_loss_the_longest_configuration_since_the_start_counts) {
  tested->expect(std::chrono::hours(2), milliseconds(0));
  tested->expect(std::chrono::hours(1), milliseconds(0));  // what began under the other may run
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "another";
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  EXPECT_GT(execute(w).retry_after, std::chrono::hours(1));
}

TEST_F(engine_over_faults, after_a_loss_the_longest_retention_since_the_start_is_flagged) {
  params.after_loss = after_loss_rule::flag;
  params.longest_retention = milliseconds(0);
  make();
  tested->expect(milliseconds(0), std::chrono::hours(1));
  tested->expect(milliseconds(0), milliseconds(0));
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "another";
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  const auto found = run(io, inner.find(op().id, milliseconds(100)));
  EXPECT_TRUE((*found)->stored.maybe_repeated);
}

TEST_F(engine_over_faults, an_older_copy_of_the_store_counts_as_loss_and_is_flagged) {
  params.after_loss = after_loss_rule::flag;
  make();
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->generation += 10;
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  EXPECT_EQ(tested->counters().losses, 0u);
  seen->generation -= 1;
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  const auto found = run(io, inner.find(op().id, milliseconds(100)));
  EXPECT_TRUE((*found)->stored.maybe_repeated);
}

// ---- a store that was away for longer than a lease

TEST_F(engine_over_faults, a_claim_in_doubt_for_longer_than_its_lease_makes_nothing_unknown) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  store.fail(store_call::settle, store_fault::before_timeout, 1);
  clock.advance(policy.lease);
  EXPECT_EQ(state(), observed_state::unknown);
  EXPECT_EQ(execute(w).kind, outcome_kind::busy) << "it is known here that nothing ran";
  EXPECT_EQ(tested->counters().unknowns, 0u);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, a_verdict_from_before_the_report_is_no_unknown_outcome) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  clock.advance(policy.lease);
  store.fail(store_call::claim, store_fault::delay_after, 1);
  std::optional<outcome> out;
  asio::co_spawn(io, operate(*tested, io, op(), w),
                 [&](std::exception_ptr, outcome got) { out = std::move(got); });
  until([&] { return store.waiting() == 1; });
  until([&] { return tested->pending() == 0; });
  store.let_go();
  until([&] { return out.has_value(); });
  EXPECT_EQ(out->kind, outcome_kind::busy) << "it is known here that nothing ran";
}

TEST_F(engine_over_faults, a_settle_later_than_its_lease_makes_nothing_unknown) {
  store.fail(store_call::settle, store_fault::before_timeout, 2);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::unrecorded);
  clock.advance(policy.lease);
  EXPECT_EQ(execute(w).kind, outcome_kind::busy);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(body_of(execute(w)), "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, work_that_goes_on_behind_its_lease_is_no_unknown_outcome) {
  counted_work w;
  begin(w);
  clock.advance(policy.lease);
  EXPECT_EQ(state(), observed_state::unknown);
  counted_work other;
  EXPECT_EQ(execute(other).kind, outcome_kind::busy);
  let_go();
  EXPECT_EQ(body_of(execute(other)), "run 1");
  EXPECT_EQ(other.runs, 0);
}

TEST_F(engine_over_faults, what_was_given_up_is_unknown_here_too) {
  counted_work w;
  begin(w);
  end_held_leases();
  counted_work other;
  EXPECT_EQ(execute(other).kind, outcome_kind::unknown);
  let_go();
}

// ---- shutdown

TEST_F(engine_over_faults, at_shutdown_held_leases_are_abandoned) {
  counted_work w;
  begin(w);
  end_held_leases();
  EXPECT_EQ(state(), observed_state::unknown);
  let_go();
  EXPECT_EQ(state(), observed_state::completed);  // its own holder knows better after all
}

TEST_F(engine_over_faults, a_second_shutdown_releases_nothing_that_was_sent) {
  counted_work w;
  begin(w);
  end_held_leases();
  end_held_leases();
  EXPECT_EQ(state(), observed_state::unknown);
  let_go();
}

TEST_F(engine_over_faults,
       at_shutdown_what_has_not_sent_anything_is_released_and_may_not_any_more) {
  counted_work w;
  w.sends_late = true;
  w.ends = settle_kind::release;
  begin(w);
  end_held_leases();
  EXPECT_EQ(state(), observed_state::released);
  let_go();
  EXPECT_FALSE(w.may_send);
  EXPECT_EQ(state(), observed_state::released);
}

}  // namespace
}  // namespace onceguard
