// Each call of the engine to its store failing, once and for long, with each kind of error.
#include "base/random.hpp"
#include "engine/engine_fixture.hpp"
#include "store/staleness.hpp"

namespace onceguard {
namespace {

// ---- a store that says that it lost its memory

class engine_whose_store_forgets : public engine_over_faults {
 protected:
  /// From here on its vitals are those of another memory.
  void replace() {
    auto seen = run(io, inner.vitals(milliseconds(100)));
    seen->identity = "another";
    store.pretend(*seen);
  }
  void expect_refusal() {
    counted_work w;
    const auto claims = store.made(store_call::claim);
    const auto out = execute(w, op("another key"));
    EXPECT_EQ(out.kind, outcome_kind::store_failed);
    EXPECT_EQ(out.failure.code, errc::store_lost);
    EXPECT_EQ(store.made(store_call::claim), claims) << "nothing is claimed any more";
    EXPECT_EQ(w.runs, 0);
    EXPECT_EQ(tested->counters().losses, 1u);
  }
};

TEST_F(engine_whose_store_forgets, a_claim_that_notices_the_loss_begins_the_refusal_at_once) {
  replace();
  store.fail(store_call::claim, store_fault::lost, 1);
  counted_work w;
  EXPECT_EQ(execute(w).failure.code, errc::store_lost);
  EXPECT_EQ(w.runs, 0);
  expect_refusal();
}

TEST_F(engine_whose_store_forgets, settle_of_a_forgotten_record_notices_the_loss) {
  params.settle_wait = std::chrono::minutes(1);
  make();
  counted_work w;
  begin(w);
  replace();
  store.fail(store_call::settle, store_fault::lost, 1);
  EXPECT_EQ(let_go().kind, outcome_kind::ran) << "its own work is settled all the same";
  expect_refusal();
}

TEST_F(engine_whose_store_forgets, follow_up_of_a_forgotten_record_notices_the_loss) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  counted_work w;
  execute(w);
  replace();
  store.fail(store_call::claim, store_fault::lost, 1);
  until([&] { return tested->pending() == 0; });
  expect_refusal();
}

TEST_F(engine_whose_store_forgets, a_lease_granted_while_a_poll_reports_the_loss_is_given_back) {
  store.fail(store_call::claim, store_fault::delay_after, 1);
  counted_work w;
  std::optional<outcome> out;
  asio::co_spawn(io, operate(*tested, io, op(), w),
                 [&](std::exception_ptr, outcome got) { out = std::move(got); });
  until([&] { return store.waiting() == 1; });
  replace();
  EXPECT_TRUE(run(io, tested->poll_store()));
  store.let_go();
  until([&] { return out.has_value(); });
  EXPECT_EQ(out->kind, outcome_kind::store_failed);
  EXPECT_EQ(out->failure.code, errc::store_lost);
  EXPECT_GT(out->retry_after.count(), 0);
  EXPECT_EQ(w.runs, 0);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(state(), observed_state::released);
}

TEST_F(engine_whose_store_forgets, loss_is_no_reason_to_run_unguarded) {
  policy.store_failure = store_failure_rule::open;
  store.fail(store_call::claim, store_fault::lost, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  EXPECT_EQ(w.unguarded, 0);
}

TEST_F(engine_whose_store_forgets, claims_go_on_when_a_poll_finds_no_loss) {
  store.fail(store_call::claim, store_fault::lost, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  const auto polls = store.made(store_call::vitals);
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(store.made(store_call::vitals), polls + 1);
  EXPECT_EQ(tested->counters().losses, 0u);
}

TEST_F(engine_whose_store_forgets, a_later_loss_is_one_more) {
  params.loss_quiet = milliseconds(20);
  make();
  replace();
  EXPECT_TRUE(run(io, tested->poll_store()));
  counted_work w;
  until([&] { return execute(w).kind != outcome_kind::store_failed; });
  tested->expect(std::chrono::hours(1), milliseconds(0));
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "a third one";
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->poll_store()));
  EXPECT_EQ(execute(w).failure.code, errc::store_lost);
}

// ---- a store that does not answer

TEST_F(engine_over_faults, replay_cache_serves_nothing_while_a_poll_hangs_for_too_long) {
  params.store_timeout = std::chrono::hours(1);
  make();
  counted_work w;
  execute(w);
  const auto served = [&] { return tested->find_replay(op().id, op().about->print).has_value(); };
  EXPECT_TRUE(served());
  store.fail(store_call::vitals, store_fault::delay_after);
  std::optional<bool> polled;
  asio::co_spawn(io, tested->poll_store(),
                 [&](std::exception_ptr, result<void> reply) { polled = reply.has_value(); });
  until([&] { return store.waiting() == 1; });
  EXPECT_TRUE(served()) << "the reading before is young";
  const auto request = base::boot_now();
  until([&] { return !served() && base::boot_now() >= request + std::chrono::seconds(5); });
  // The reading was true when it was requested, and that is long ago.
  store.let_go();
  until([&] { return polled.has_value(); });
  EXPECT_TRUE(*polled);
  EXPECT_FALSE(served());
  store.heal_all();
  EXPECT_TRUE(run(io, tested->poll_store()));
  EXPECT_TRUE(served());
}

TEST_F(engine_over_faults, fail_open_is_no_answer_to_a_record_that_can_not_be_read) {
  policy.store_failure = store_failure_rule::open;
  store.fail(store_call::claim, store_fault::unreadable, 1);
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::record_unreadable);
  EXPECT_EQ(w.unguarded, 0);
}

// ---- settles

class every_error : public engine_over_faults, public ::testing::WithParamInterface<store_fault> {};

TEST_P(every_error, a_settle_that_fails_once_is_made_again) {
  params.settle_wait = std::chrono::minutes(1);
  make();
  store.fail(store_call::settle, GetParam(), 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(body_of(execute(w)), "run 1");
}

TEST_P(every_error, a_settle_that_fails_for_long_goes_on_behind_the_answer) {
  store.fail(store_call::settle, GetParam(), 3);
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::unrecorded);
  EXPECT_EQ(out.settled_as, settle_kind::complete);
  EXPECT_EQ(tested->pending(), 1u);
  EXPECT_GT(budget.used(), 0u);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(state(), observed_state::completed);
  EXPECT_EQ(store.made(store_call::settle), 4u);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(body_of(execute(w)), "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_P(every_error, a_claim_of_unknown_effect_is_followed_up) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  store.fail(store_call::claim, GetParam(), 2);
  until([&] { return store.repeated() == 2; });
  EXPECT_EQ(state(), observed_state::in_progress);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(store.repeated(), 3u);
  EXPECT_EQ(state(), observed_state::released);
}

TEST_P(every_error, what_a_claim_of_unknown_effect_got_is_released) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  store.fail(store_call::settle, GetParam(), 2);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(store.made(store_call::settle), 3u);
  EXPECT_EQ(store.repeated(), 1u) << "it is not claimed again";
  EXPECT_EQ(state(), observed_state::released);
}

INSTANTIATE_TEST_SUITE_P(store, every_error,
                         ::testing::Values(store_fault::before, store_fault::before_timeout,
                                           store_fault::full, store_fault::lost,
                                           store_fault::unreadable, store_fault::too_big));

TEST_F(engine_over_faults, a_caller_waits_for_a_settle_no_longer_than_settle_wait) {
  params.settle_wait = milliseconds(1'000);
  make();
  store.fail(store_call::settle, store_fault::before);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::unrecorded);
  // At once, and after pauses of 100, 200 and 400 ms: the next one would end too late.
  EXPECT_GT(store.made(store_call::settle), 1u);
  EXPECT_LE(store.made(store_call::settle), 4u);
  store.heal_all();
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(state(), observed_state::completed);
}

TEST_F(engine_over_faults, a_late_settle_that_is_stale_changes_nothing) {
  counted_work slow;
  store.fail(store_call::settle, store_fault::unreadable, 2);
  EXPECT_EQ(execute(slow).kind, outcome_kind::unrecorded);
  clock.advance(milliseconds(40'000));
  policy.unknown = unknown_policy::rerun;
  store.heal_all();
  counted_work quick;
  quick.runs = 10;
  EXPECT_EQ(execute(quick).kind, outcome_kind::ran);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(tested->counters().stale_settles, 1u);
  EXPECT_EQ(body_of(execute(quick)), "run 11");
}

TEST_F(engine_over_faults, an_error_that_stays_is_met_less_and_less_often) {
  store.fail(store_call::settle, store_fault::unreadable);
  counted_work w;
  const auto begun = base::boot_now();
  EXPECT_EQ(execute(w).kind, outcome_kind::unrecorded);
  // Five more, with pauses of 100, 200, 400, 800 and 1,600 ms.
  until([&] { return store.made(store_call::settle) == 6; });
  EXPECT_GE(base::boot_now() - begun, milliseconds(3'000));
  store.heal_all();
}

TEST_F(engine_over_faults, a_stale_holder_that_can_not_look_sends_no_answer) {
  counted_work w;
  begin(w);
  resolution freed;
  freed.id = op().id;
  freed.force = true;
  ASSERT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  counted_work other;
  EXPECT_EQ(execute(other).kind, outcome_kind::ran);
  store.fail(store_call::find, store_fault::before, 1);
  const auto out = let_go();
  EXPECT_EQ(out.kind, outcome_kind::superseded);
  EXPECT_FALSE(out.answer);
}

// ---- what an engine does again and again

TEST_F(engine_over_faults, a_poll_that_failed_is_not_the_last) {
  store.fail(store_call::vitals, store_fault::before, 1);
  tested->start(io);
  const auto polls = store.made(store_call::vitals);
  until([&] { return store.made(store_call::vitals) >= polls + 2; });
}

TEST_F(engine_over_faults, a_sweep_that_failed_is_not_the_last) {
  params.sweep_interval = milliseconds(10);
  make();
  store.fail(store_call::sweep, store_fault::before, 1);
  tested->start(io);
  EXPECT_EQ(tested->health().swept_wall, 0);
  until([&] { return store.made(store_call::sweep) >= 2; });
  until([&] { return tested->health().swept_wall != 0; });
  EXPECT_LT(std::abs(tested->health().swept_wall - base::system_clock().wall_ms()), 60'000);
}

TEST_F(engine_over_faults, a_sweep_goes_on_until_nothing_is_left) {
  params.sweep_interval = milliseconds(10);
  make();
  counted_work w;
  w.retention = milliseconds(1);
  constexpr int records = 1'100;  // more than two batches
  for (int i = 0; i < records; ++i) execute(w, op("k" + std::to_string(i)));
  clock.advance(milliseconds(1));
  tested->start(io);
  until([&] { return store.made(store_call::sweep) >= 1; });
  EXPECT_EQ(tested->counters().swept, records) << "without a pause between two batches";
}

// ---- renewals

TEST_F(engine_over_faults, a_renewal_that_fails_once_is_made_again) {
  policy.lease = milliseconds(90);
  counted_work w;
  store.fail(store_call::extend, store_fault::before, 1);
  begin(w);
  until([&] { return store.made(store_call::extend) >= 3; });
  EXPECT_EQ(let_go().kind, outcome_kind::ran);
}

// ---- probes

/// The application was asked, and the store can't be reached to say that it did not.
class engine_that_cannot_dispatch : public engine_over_faults {
 protected:
  counted_work w;

  void SetUp() override {
    engine_over_faults::SetUp();
    counted_work lost;
    lost.ends = settle_kind::abandon;
    execute(lost);
    policy.unknown = unknown_policy::probe;
    w.says = effect_status::not_done;
  }
  /// Long before its lease runs out.
  void expect_given_back(observed_state as) {
    EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
    EXPECT_EQ(w.runs, 0);
    EXPECT_EQ(tested->pending(), 1u) << "a shutdown waits for it";
    until([&] { return tested->pending() == 0; });
    EXPECT_EQ(state(), as);
  }
};

TEST_F(engine_that_cannot_dispatch, gives_the_record_back_unknown) {
  store.fail(store_call::extend, store_fault::before, 1);
  expect_given_back(observed_state::unknown);
  EXPECT_EQ(execute(w).kind, outcome_kind::ran) << "asked once more";
  EXPECT_EQ(w.questions, 2);
}

TEST_F(engine_that_cannot_dispatch, leaves_the_record_free_if_the_store_answered_after_all) {
  store.fail(store_call::extend, store_fault::after_timeout, 1);
  expect_given_back(observed_state::released);
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.questions, 1);
}

TEST_F(engine_that_cannot_dispatch, repeats_the_return_of_the_lease_while_the_store_is_away) {
  store.fail(store_call::extend, store_fault::before_timeout, 1);
  store.fail(store_call::settle, store_fault::before, 2);
  expect_given_back(observed_state::unknown);
  EXPECT_EQ(store.made(store_call::settle), 4u) << "that of the first run, and three of this";
}

TEST_F(engine_that_cannot_dispatch, whose_lease_another_holder_has_runs_nothing_and_ends_nothing) {
  store.fail(store_call::extend, store_fault::delay_before, 1);
  std::optional<outcome> out;
  asio::co_spawn(io, operate(*tested, io, op(), w),
                 [&](std::exception_ptr, outcome got) { out = std::move(got); });
  until([&] { return store.waiting() == 1; });
  resolution freed;
  freed.id = op().id;
  freed.force = true;
  ASSERT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  claim later;
  later.id = op().id;
  base::random_bytes(later.claim_id);
  later.about = op().about;
  ASSERT_EQ(run(io, inner.claim({later}, milliseconds(100))).at(0)->kind, verdict_kind::run);
  store.let_go();
  until([&] { return out.has_value(); });
  EXPECT_EQ(out->kind, outcome_kind::busy);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(state(), observed_state::in_progress);
}

TEST_F(engine_that_cannot_dispatch, since_the_store_lost_its_memory_refuses_at_once) {
  store.fail(store_call::extend, store_fault::lost, 1);
  const auto polls = store.made(store_call::vitals);
  expect_given_back(observed_state::unknown);
  execute(w);
  EXPECT_EQ(store.made(store_call::vitals), polls + 1);
}

}  // namespace
}  // namespace onceguard
