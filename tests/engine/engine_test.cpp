// The engine over a store that goes wrong on request: claim, run, settle, wait.
#include "base/random.hpp"
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

TEST_F(engine_over_faults, runs_once_and_replays) {
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  const auto again = execute(w);
  EXPECT_EQ(again.kind, outcome_kind::replay);
  ASSERT_TRUE(again.answer);
  EXPECT_EQ(again.answer->body, "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, memory_serves_a_replay_without_the_store) {
  counted_work w;
  execute(w);
  const auto request = op();
  const auto calls = store.made(store_call::claim);
  const auto found = tested->find_replay(request.id, request.about->print);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->answer->body, "run 1");
  EXPECT_EQ(store.made(store_call::claim), calls);
  EXPECT_FALSE(tested->find_replay(request.id, op("k", 2).about->print));
}

TEST_F(engine_over_faults, memory_forgets_when_an_operator_released) {
  counted_work w;
  execute(w);
  resolution request;
  request.id = op().id;
  EXPECT_TRUE(run(io, store.resolve(request, milliseconds(100))));
  EXPECT_TRUE(run(io, tested->poll_store()));
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
  execute(w);
  EXPECT_EQ(w.runs, 2);
}

TEST_F(engine_over_faults, memory_does_not_keep_what_was_released_while_its_claim_was_under_way) {
  counted_work w;
  execute(w);
  store.fail(store_call::claim, store_fault::delay_after, 1);
  std::optional<outcome> out;
  asio::co_spawn(io, operate(*tested, io, op(), w),
                 [&](std::exception_ptr, outcome got) { out = std::move(got); });
  until([&] { return store.waiting() == 1; });
  resolution request;
  request.id = op().id;
  EXPECT_TRUE(run(io, inner.resolve(request, milliseconds(100))));
  EXPECT_TRUE(run(io, tested->poll_store()));
  store.let_go();
  until([&] { return out.has_value(); });
  EXPECT_EQ(body_of(*out), "run 1") << "it was the answer when it was asked for";
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
}

TEST_F(engine_over_faults, memory_keeps_an_answer_for_its_retention) {
  counted_work w;
  w.retention = milliseconds(200);
  const auto begun = base::boot_now();
  execute(w);
  const auto settled = base::boot_now();
  const auto served = [&] { return tested->find_replay(op().id, op().about->print).has_value(); };
  EXPECT_TRUE(served() || base::boot_now() >= begun + w.retention);
  until([&] { return base::boot_now() >= settled + w.retention; });
  EXPECT_FALSE(served());
}

TEST_F(engine_over_faults, memory_keeps_nothing_that_the_application_completed) {
  // For how long it may be replayed, only the record says.
  counted_work slow;
  begin(slow);
  const auto held = run(io, inner.find(op().id, milliseconds(100))).value()->stored;
  settlement own;
  own.id = op().id;
  own.token = held.token;
  own.claim_id = held.claim_id;
  own.by_application = true;
  own.kept = answer_kept::none;
  own.retention = milliseconds(1'000);
  ASSERT_TRUE(run(io, inner.settle({own}, milliseconds(100))).at(0));
  const auto out = let_go();
  EXPECT_EQ(out.kind, outcome_kind::ran);
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
  EXPECT_EQ(execute(slow).answer->body, "run 1");
}

TEST_F(engine_over_faults, memory_serves_nothing_before_the_store_was_answered) {
  counted_work w;
  execute(w);
  store.fail(store_call::vitals, store_fault::before);
  tested = std::make_unique<engine>(store, params, budget);
  EXPECT_FALSE(run(io, tested->poll_store()));
  execute(w);  // a replay by the store
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
}

TEST_F(engine_over_faults, a_store_out_of_reach_runs_nothing) {
  counted_work w;
  store.fail(store_call::claim, store_fault::before);
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(w.runs, 0);
  store.heal_all();
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
}

TEST_F(engine_over_faults, fail_open_must_be_configured) {
  counted_work w;
  policy.store_failure = store_failure_rule::open;
  store.fail(store_call::claim, store_fault::before);
  EXPECT_EQ(execute(w).kind, outcome_kind::unguarded);
  EXPECT_EQ(w.unguarded, 1);
  EXPECT_EQ(tested->counters().unguarded, 1u);
}

TEST_F(engine_over_faults, a_claim_of_unknown_effect_is_followed_up_and_released) {
  counted_work w;
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  EXPECT_EQ(state(), observed_state::in_progress);  // held by nobody who knows
  EXPECT_EQ(store.repeated(), 0u);
  until([&] { return state() == observed_state::released; });
  EXPECT_EQ(store.repeated(), 1u);
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, following_up_never_takes_over_an_unknown_outcome) {
  counted_work w;
  w.ends = settle_kind::abandon;
  execute(w);
  policy.unknown = unknown_policy::rerun;
  store.fail(store_call::claim, store_fault::before_timeout, 1);
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  const auto claims = store.made(store_call::claim);
  const auto token = run(io, inner.find(op().id, milliseconds(100))).value()->stored.token;
  until([&] { return tested->pending() == 0; });
  EXPECT_GT(store.made(store_call::claim), claims);
  EXPECT_EQ(state(), observed_state::unknown);
  // A takeover that is released at once leaves the outcome unknown as well.
  EXPECT_EQ(run(io, inner.find(op().id, milliseconds(100))).value()->stored.token, token);
}

TEST_F(engine_over_faults, an_answer_that_cannot_be_recorded_is_held_back_and_recorded_later) {
  counted_work w;
  store.fail(store_call::settle, store_fault::before);
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::unrecorded);
  EXPECT_EQ(out.settled_as, settle_kind::complete);
  store.heal_all();
  until([&] { return state() == observed_state::completed; });
  const auto again = execute(w);
  EXPECT_EQ(again.kind, outcome_kind::replay);
  EXPECT_EQ(again.answer->body, "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, waiting_settles_count_toward_the_byte_budget) {
  counted_work w;
  w.padding = 400'000;
  store.fail(store_call::settle, store_fault::before);
  EXPECT_EQ(execute(w, op("a")).kind, outcome_kind::unrecorded);
  EXPECT_GT(budget.used(), 400'000u);
  EXPECT_EQ(execute(w, op("b")).kind, outcome_kind::unrecorded);
  EXPECT_GT(budget.used(), 800'000u);
  EXPECT_LT(budget.used(), 810'000u);
  store.heal_all();
  until([&] { return budget.used() == 0; });
  const auto a = execute(w, op("a")).answer;
  ASSERT_TRUE(a);
  EXPECT_EQ(a->body.size(), 400'005u);
  const auto b = execute(w, op("b")).answer;
  ASSERT_TRUE(b);
  EXPECT_EQ(b->body.size(), 400'005u);
}

TEST_F(engine_over_faults, what_waits_takes_over_what_its_answer_holds_already) {
  byte_reservation body(budget);
  byte_reservation answer(budget);
  ASSERT_TRUE(body.grow_to(300'000));
  ASSERT_TRUE(answer.grow_to(700'000));
  auto request = op();
  request.answer_room = &answer;
  counted_work w;
  w.padding = 700'000;
  store.fail(store_call::settle, store_fault::before);
  EXPECT_EQ(execute(w, request).kind, outcome_kind::unrecorded);
  EXPECT_EQ(answer.bytes(), 0u);
  EXPECT_GT(budget.used(), 1'000'000u);
  store.heal_all();
  until([&] { return budget.used() == 300'000; });
  const auto again = execute(w).answer;
  ASSERT_TRUE(again);
  EXPECT_EQ(again->body.size(), 700'005u);
}

TEST_F(engine_over_faults, what_ran_is_kept_where_there_is_no_room_for_it) {
  byte_reservation others(budget);
  ASSERT_TRUE(others.grow_to((1u << 20) - 100));
  counted_work w;
  w.padding = 1'000;
  store.fail(store_call::settle, store_fault::before);
  EXPECT_EQ(execute(w).kind, outcome_kind::unrecorded);
  EXPECT_GT(budget.used(), 1u << 20) << "it counts too";
  byte_reservation more(budget);
  EXPECT_FALSE(more.grow_to(1));
  store.heal_all();
  until([&] { return budget.used() == others.bytes(); });
  const auto again = execute(w);
  EXPECT_EQ(again.kind, outcome_kind::replay);
  ASSERT_TRUE(again.answer);
  EXPECT_EQ(again.answer->body.size(), 1'005u);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, nothing_is_claimed_where_the_longest_answer_has_no_room) {
  byte_reservation others(budget);
  byte_reservation answer(budget);
  auto request = op();
  request.answer_room = &answer;
  request.usual_answer = 1'000;
  request.longest_answer = 10'000;
  ASSERT_TRUE(others.grow_to((1u << 20) - 9'999));
  counted_work w;
  EXPECT_EQ(execute(w, request).kind, outcome_kind::no_room);
  EXPECT_EQ(store.made(store_call::claim), 0u);
  EXPECT_EQ(budget.used(), others.bytes());
  others.set((1u << 20) - 10'000);
  EXPECT_EQ(execute(w, request).kind, outcome_kind::ran);
  EXPECT_EQ(answer.bytes(), 1'000u) << "what it is usually, before it is known";
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, a_settle_that_was_done_but_said_otherwise_is_done) {
  params.settle_wait = std::chrono::minutes(1);
  make();
  counted_work w;
  store.fail(store_call::settle, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(state(), observed_state::completed);
}

TEST_F(engine_over_faults, work_that_throws_leaves_an_unknown_outcome) {
  counted_work w;
  w.throws = true;
  EXPECT_THROW(execute(w), std::runtime_error);
  until([&] { return state() == observed_state::unknown && tested->pending() == 0; });
  EXPECT_EQ(run(io, inner.find(op().id, milliseconds(100))).value()->stored.why,
            unknown_reason::abandoned);
}

TEST_F(engine_over_faults, a_lease_that_is_dropped_is_abandoned) {
  auto claimed = run(io, tested->claim(io, op()));
  ASSERT_TRUE(claimed.lease);
  EXPECT_EQ(claimed.outcome.kind, outcome_kind::granted);
  auto moved = std::optional(*std::move(claimed.lease));
  claimed.lease.reset();
  io.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(state(), observed_state::in_progress) << "the handle lives on where it was moved to";
  moved.reset();
  until([&] { return state() == observed_state::unknown; });
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::unknown);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(engine_over_faults, a_lease_is_renewed_while_the_work_runs) {
  policy.lease = milliseconds(90);
  counted_work w;
  begin(w);
  until([&] { return store.made(store_call::extend) >= 3; });
  counted_work other;
  EXPECT_EQ(execute(other).kind, outcome_kind::busy);
  const auto out = let_go();
  EXPECT_EQ(out.kind, outcome_kind::ran);
  const auto renewals = store.made(store_call::extend);
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(store.made(store_call::extend), renewals);  // and no longer
}

TEST_F(engine_over_faults, a_stale_holder_gets_the_stored_answer_and_not_its_own) {
  counted_work slow;
  begin(slow);
  clock.advance(milliseconds(40'000));  // for the store the lease is over, for the holder not
  policy.unknown = unknown_policy::rerun;
  counted_work quick;
  quick.runs = 10;
  EXPECT_EQ(execute(quick).kind, outcome_kind::ran);
  const auto out = let_go();
  EXPECT_EQ(out.kind, outcome_kind::replay);
  EXPECT_EQ(out.answer->body, "run 11");
}

TEST_F(engine_over_faults, a_stale_holder_gets_no_answer_to_another_request) {
  counted_work slow;
  begin(slow);
  resolution freed;
  freed.id = op().id;
  freed.force = true;
  ASSERT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  counted_work other;
  EXPECT_EQ(execute(other, op("k", 2)).kind, outcome_kind::ran);
  const auto out = let_go();
  EXPECT_EQ(out.kind, outcome_kind::superseded);
  EXPECT_FALSE(out.answer);
}

TEST_F(engine_over_faults, a_claim_that_is_busy_with_its_own_commit_is_followed_up_all_the_same) {
  // Its first try waits in a commit that hangs: until that is over, its repeat hears "busy".
  counted_work w;
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  store.say_busy(1);
  until([&] { return state() == observed_state::released; });
}

TEST_F(engine_over_faults, a_waiter_gets_the_first_ones_answer) {
  policy.on_busy = on_busy_rule::wait;
  counted_work first;
  begin(first);
  counted_work never;
  std::vector<outcome> out;
  auto keep = [&](std::exception_ptr, outcome got) { out.push_back(std::move(got)); };
  for (int i = 0; i < 20; ++i) asio::co_spawn(io, operate(*tested, io, op(), never), keep);
  until([&] { return tested->counters().busy >= 20; });
  let_go();
  until([&] { return out.size() == 20; });
  EXPECT_EQ(never.runs, 0);
  for (const auto& each : out) {
    EXPECT_EQ(each.kind, outcome_kind::replay);
    EXPECT_EQ(each.answer->body, "run 1");
  }
}

TEST_F(engine_over_faults, a_mismatch_does_not_wait_behind_those_who_do) {
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(60'000);
  counted_work first;
  begin(first);
  counted_work never;
  asio::co_spawn(io, operate(*tested, io, op(), never), [](std::exception_ptr, outcome) {});
  until([&] { return tested->counters().busy >= 2; });
  EXPECT_EQ(execute(never, op("k", 2)).kind, outcome_kind::mismatch);
  let_go();
}

TEST_F(engine_over_faults, when_the_first_is_released_one_waiter_runs) {
  policy.on_busy = on_busy_rule::wait;
  counted_work first;
  first.ends = settle_kind::release;
  begin(first);
  counted_work second;
  std::vector<outcome> out;
  auto keep = [&](std::exception_ptr, outcome got) { out.push_back(std::move(got)); };
  for (int i = 0; i < 8; ++i) asio::co_spawn(io, operate(*tested, io, op(), second), keep);
  until([&] { return tested->counters().busy >= 8; });
  let_go();
  until([&] { return out.size() == 8; });
  EXPECT_EQ(second.runs, 1);
}

TEST_F(engine_over_faults, waiting_ends_with_the_wait) {
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(30);
  claim held;
  held.id = op().id;
  base::random_bytes(held.claim_id);
  held.about = op().about;
  std::vector<claim> batch(1, held);
  EXPECT_TRUE(run(io, store.claim(batch, milliseconds(100)))[0]);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::busy);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(engine_over_faults, a_full_waiting_room_says_busy) {
  params.max_waiters = 0;
  make();
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(60'000);
  claim held;
  held.id = op().id;
  held.about = op().about;
  std::vector<claim> batch(1, held);
  EXPECT_TRUE(run(io, store.claim(batch, milliseconds(100)))[0]);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::busy);
}

}  // namespace
}  // namespace onceguard
