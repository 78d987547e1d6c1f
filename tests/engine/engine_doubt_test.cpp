// The engine in doubt: asking the application, a store that lost its memory, shutdown.
#include "engine/engine_fixture.hpp"

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

TEST_F(engine_that_asks, it_did_is_stored_and_replayed) {
  counted_work w;
  w.says = probe_answer::did;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, execution_kind::stored);
  EXPECT_EQ(out.answer->status, 204);
  EXPECT_EQ(execute(w).kind, execution_kind::stored);
  EXPECT_EQ(w.asked, 1);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(engine_that_asks, it_did_not_runs) {
  counted_work w;
  w.says = probe_answer::did_not;
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_that_asks, unclear_stays_unknown_and_is_not_asked_again_at_once) {
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, execution_kind::unknown);
  EXPECT_TRUE(out.probed);
  EXPECT_EQ(execute(w).kind, execution_kind::unknown);
  EXPECT_EQ(w.asked, 1);
  clock.advance(milliseconds(1'000));
  execute(w);
  EXPECT_EQ(w.asked, 2);
  EXPECT_EQ(w.runs, 0);
}

// ---- loss of the store's memory

TEST_F(engine_over_faults, a_store_that_lost_its_memory_gets_no_new_claims_for_a_while) {
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->identity = "another";
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->look()));
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, execution_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::store_lost);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(tested->counters().losses, 1u);
}

TEST_F(engine_over_faults, an_older_copy_of_the_store_counts_as_loss_and_is_flagged) {
  params.after_loss = after_loss_rule::flag;
  make();
  auto seen = run(io, inner.vitals(milliseconds(100)));
  seen->generation += 10;
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->look()));
  EXPECT_EQ(tested->counters().losses, 0u);
  seen->generation -= 1;
  store.pretend(*seen);
  EXPECT_TRUE(run(io, tested->look()));
  counted_work w;
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
  const auto found = run(io, inner.find(op().id, milliseconds(100)));
  EXPECT_TRUE((*found)->stored.maybe_repeated);
}

TEST_F(engine_over_faults, at_shutdown_held_leases_are_abandoned) {
  asio::steady_timer gate(io);
  gate.expires_at(asio::steady_timer::time_point::max());
  counted_work w;
  w.gate = &gate;
  bool over = false;
  auto keep = [&](std::exception_ptr, execution) { over = true; };
  asio::co_spawn(io, tested->execute(io, op(), w), keep);
  until([&] { return w.runs == 1; });
  auto abandon = [&]() -> asio::awaitable<int> {
    co_await tested->abandon_held();
    co_return 0;
  };
  run(io, abandon());
  EXPECT_EQ(state(), observed_state::unknown);
  gate.cancel();
  until([&] { return over; });
  EXPECT_EQ(state(), observed_state::completed);  // its own holder knows better after all
}

}  // namespace
}  // namespace onceguard
