// What an engine serves from its own memory and for how long, and what outlives its process.
#include "engine/engine_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

class engine_memory : public engine_over_faults {
 protected:
  bool served() { return tested->find_replay(op().id, op().about->print).has_value(); }
  /// The store's vitals are those of another memory from now on.
  void replace_store() {
    auto seen = run(io, inner.vitals(milliseconds(100)));
    seen->identity = "another";
    store.pretend(*seen);
    EXPECT_TRUE(run(io, tested->poll_store()));
    EXPECT_EQ(tested->counters().losses, 1u);
  }
  void release_completed() {
    resolution request;
    request.id = op().id;
    EXPECT_EQ(run(io, inner.resolve(request, milliseconds(100)))->outcome, resolve_outcome::done);
    EXPECT_TRUE(run(io, tested->poll_store()));
  }
};

// ---- the cache

TEST_F(engine_memory, keeps_a_replay_for_what_is_left_of_its_retention) {
  counted_work w;
  execute(w);
  make();  // another process, which knows of it by the store alone
  constexpr milliseconds left{200};
  clock.advance(w.retention - left);
  const auto begun = base::boot_now();
  EXPECT_EQ(execute(w).kind, outcome_kind::replay);
  const auto read = base::boot_now();
  EXPECT_TRUE(served() || base::boot_now() >= begun + left);
  until([&] { return base::boot_now() >= read + left; });
  EXPECT_FALSE(served());
}

TEST_F(engine_memory, keeps_nothing_that_was_released_while_its_settle_was_under_way) {
  counted_work w;
  store.fail(store_call::settle, store_fault::delay_after, 1);
  begin(w);
  gate.cancel();
  until([&] { return store.waiting() == 1; });
  release_completed();
  store.let_go();
  until([&] { return first_.has_value(); });
  EXPECT_EQ(first_->kind, outcome_kind::ran);
  EXPECT_FALSE(served());
  counted_work next;
  EXPECT_EQ(execute(next).kind, outcome_kind::ran) << "that is what the release was for";
}

TEST_F(engine_memory, keeps_nothing_that_has_no_answer_yet) {
  auto claimed = run(io, tested->claim(io, op()));
  ASSERT_TRUE(claimed.lease);
  settle_terms without;
  without.kept = answer_kept::none;
  EXPECT_EQ(run(io, claimed.lease->settle(without)).kind, outcome_kind::ran);
  EXPECT_FALSE(served()) << "the application or an operator may still add it";
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::replay);
  EXPECT_FALSE(served());
}

// ---- a restart after the store lost its memory

TEST_F(engine_memory, of_a_loss_outlives_the_process_that_noticed_it) {
  const testing::temporary_folder folder;
  params.state_dir = folder.path().string();
  make();
  replace_store();
  make();
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::store_lost);
  EXPECT_GT(out.retry_after, params.loss_quiet / 2);
  EXPECT_LE(out.retry_after, params.loss_quiet);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(tested->counters().losses, 0u) << "it is the same loss";
}

TEST_F(engine_memory, of_a_loss_flags_what_runs_in_the_next_process_too) {
  const testing::temporary_folder folder;
  params.state_dir = folder.path().string();
  params.after_loss = after_loss_rule::flag;
  make();
  replace_store();
  make();
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_TRUE(run(io, inner.find(op().id, milliseconds(100))).value()->stored.maybe_repeated);
  EXPECT_EQ(tested->counters().maybe_repeated, 1u);
}

// ---- claims in doubt

TEST_F(engine_memory, of_claims_in_doubt_has_a_limit) {
  params.max_follow_ups = 1;
  make();
  store.fail(store_call::claim, store_fault::after_timeout);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::store_failed);
  EXPECT_EQ(execute(w, op("another")).kind, outcome_kind::store_failed);
  EXPECT_EQ(tested->pending(), 1u);
  store.heal_all();
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(state(), observed_state::released);
  EXPECT_EQ(run(io, inner.find(op("another").id, milliseconds(100))).value()->state,
            observed_state::in_progress)
      << "until its lease is over";
}

}  // namespace
}  // namespace onceguard
