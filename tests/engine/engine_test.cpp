// The engine over a store that goes wrong when told to: claim, run, settle.
#include "engine/engine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "engine/held_lease.hpp"
#include "store/faulty_store.hpp"
#include "store/memory/memory_store.hpp"
#include "support/run.hpp"

namespace onceguard {
namespace {

namespace asio = boost::asio;
using testing::run;

/// Work that counts how often it ran, and settles as told.
class counted_work final : public work {
 public:
  settle_kind ends = settle_kind::complete;
  probe_answer says = probe_answer::unclear;
  int runs = 0;
  int asked = 0;
  int unguarded = 0;
  bool throws = false;
  bool may_send = true;
  asio::steady_timer* gate = nullptr;

  asio::awaitable<settlement> run(held_lease& held) override {
    ++runs;
    may_send = held.may_send();
    if (gate != nullptr) {
      boost::system::error_code opened;
      co_await gate->async_wait(asio::redirect_error(asio::use_awaitable, opened));
    }
    if (throws) throw std::runtime_error("the work broke");
    settlement how;
    how.kind = ends;
    auto a = std::make_shared<answer>();
    a->status = 201;
    a->body = "run " + std::to_string(runs);
    how.answer = a;
    co_return how;
  }
  asio::awaitable<probe_report> ask(held_lease&) override {
    ++asked;
    probe_report out;
    out.said = says;
    auto known = std::make_shared<answer>();
    known->status = 204;
    out.answer = std::move(known);
    co_return out;
  }
  asio::awaitable<void> run_unguarded() override {
    ++unguarded;
    co_return;
  }
  result<fingerprint> remake(std::string_view method) override {
    fingerprint out;
    out.method = method;
    return out;
  }
};

class engine_over_faults : public ::testing::Test {
 protected:
  asio::io_context io;
  base::manual_clock clock;
  memory_store inner{clock};
  faulty_store store{inner};
  base::byte_budget budget{1u << 20};
  route_policy policy;
  engine_params params;
  std::unique_ptr<engine> tested;

  void SetUp() override {
    params.settle_wait = milliseconds(0);
    params.store_timeout = milliseconds(500);
    make();
  }
  void make() {
    tested = std::make_unique<engine>(store, params, budget);
    EXPECT_TRUE(run(io, tested->look()));
  }
  operation op(std::string key = "k", unsigned char body = 1) {
    auto about = std::make_shared<subject>();
    about->key = std::move(key);
    about->print.method = "exact";
    about->print.value[0] = body;
    operation out;
    out.id = make_record_id(about->scope, about->key);
    out.about = std::move(about);
    out.policy = &policy;
    return out;
  }
  execution execute(work& doing, operation what) {
    return run(io, tested->execute(io, std::move(what), doing));
  }
  execution execute(work& doing) { return execute(doing, op()); }
  observed_state state() {
    const auto found = run(io, inner.find(op().id, milliseconds(100)));
    return *found ? (*found)->state : observed_state::released;
  }
  /// Runs the loop until the condition holds; fails after five seconds.
  template <class Condition>
  void until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    io.restart();
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the condition never held";
      io.run_one_for(std::chrono::milliseconds(20));
      io.restart();
    }
  }
};

TEST_F(engine_over_faults, runs_once_and_replays) {
  counted_work w;
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
  const auto again = execute(w);
  EXPECT_EQ(again.kind, execution_kind::stored);
  ASSERT_TRUE(again.answer);
  EXPECT_EQ(again.answer->body, "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, memory_serves_a_replay_without_the_store) {
  counted_work w;
  execute(w);
  const auto what = op();
  const auto calls = store.made(store_call::claim);
  const auto found = tested->find_replay(what.id, what.about->print);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->answer->body, "run 1");
  EXPECT_EQ(store.made(store_call::claim), calls);
  EXPECT_FALSE(tested->find_replay(what.id, op("k", 2).about->print));
}

TEST_F(engine_over_faults, memory_forgets_when_an_operator_released) {
  counted_work w;
  execute(w);
  resolution how;
  how.id = op().id;
  EXPECT_TRUE(run(io, store.resolve(how, milliseconds(100))));
  EXPECT_TRUE(run(io, tested->look()));
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
  execute(w);
  EXPECT_EQ(w.runs, 2);
}

TEST_F(engine_over_faults, memory_serves_nothing_before_the_store_was_heard) {
  counted_work w;
  execute(w);
  store.fail(store_call::vitals, store_fault::before);
  tested = std::make_unique<engine>(store, params, budget);
  EXPECT_FALSE(run(io, tested->look()));
  execute(w);  // a replay by the store
  EXPECT_FALSE(tested->find_replay(op().id, op().about->print));
}

TEST_F(engine_over_faults, a_store_out_of_reach_runs_nothing) {
  counted_work w;
  store.fail(store_call::claim, store_fault::before);
  const auto out = execute(w);
  EXPECT_EQ(out.kind, execution_kind::store_failed);
  EXPECT_EQ(w.runs, 0);
  store.heal_all();
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
}

TEST_F(engine_over_faults, fail_open_has_to_be_asked_for) {
  counted_work w;
  policy.store_failure = store_failure_rule::open;
  store.fail(store_call::claim, store_fault::before);
  EXPECT_EQ(execute(w).kind, execution_kind::unguarded);
  EXPECT_EQ(w.unguarded, 1);
  EXPECT_EQ(tested->counters().unguarded, 1u);
}

TEST_F(engine_over_faults, a_claim_of_unknown_fate_is_followed_up_and_released) {
  counted_work w;
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(w).kind, execution_kind::store_failed);
  EXPECT_EQ(state(), observed_state::in_progress);  // held by nobody who knows
  until([&] { return state() == observed_state::released; });
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, following_up_never_takes_over_an_unknown_outcome) {
  counted_work w;
  w.ends = settle_kind::abandon;
  execute(w);
  policy.unknown = unknown_policy::rerun;
  store.fail(store_call::claim, store_fault::before_timeout, 1);
  EXPECT_EQ(execute(w).kind, execution_kind::store_failed);
  const auto claims = store.made(store_call::claim);
  until([&] { return store.made(store_call::claim) > claims; });
  EXPECT_EQ(state(), observed_state::unknown);
}

TEST_F(engine_over_faults, an_answer_that_cannot_be_recorded_is_held_back_and_recorded_later) {
  counted_work w;
  store.fail(store_call::settle, store_fault::before);
  const auto out = execute(w);
  EXPECT_EQ(out.kind, execution_kind::unrecorded);
  EXPECT_EQ(out.settled_as, settle_kind::complete);
  store.heal_all();
  until([&] { return state() == observed_state::completed; });
  const auto again = execute(w);
  EXPECT_EQ(again.kind, execution_kind::stored);
  EXPECT_EQ(again.answer->body, "run 1");
  EXPECT_EQ(w.runs, 1);
}

TEST_F(engine_over_faults, a_settle_that_was_done_but_said_otherwise_is_done) {
  params.settle_wait = milliseconds(2'000);
  make();
  counted_work w;
  store.fail(store_call::settle, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(w).kind, execution_kind::ran);
  EXPECT_EQ(state(), observed_state::completed);
}

TEST_F(engine_over_faults, work_that_throws_leaves_an_unknown_outcome) {
  counted_work w;
  w.throws = true;
  EXPECT_THROW(execute(w), std::runtime_error);
  EXPECT_EQ(state(), observed_state::unknown);
}

TEST_F(engine_over_faults, a_lease_is_renewed_while_the_work_runs) {
  policy.lease = milliseconds(90);
  asio::steady_timer gate(io);
  gate.expires_at(asio::steady_timer::time_point::max());
  counted_work w;
  w.gate = &gate;
  std::optional<execution> out;
  auto keep = [&](std::exception_ptr, execution got) { out = std::move(got); };
  asio::co_spawn(io, tested->execute(io, op(), w), keep);
  until([&] { return store.made(store_call::extend) >= 3; });
  counted_work other;
  EXPECT_EQ(execute(other).kind, execution_kind::busy);
  gate.cancel();
  until([&] { return out.has_value(); });
  EXPECT_EQ(out->kind, execution_kind::ran);
  const auto renewals = store.made(store_call::extend);
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(store.made(store_call::extend), renewals);  // and no longer
}

TEST_F(engine_over_faults, a_stale_holder_gets_the_stored_answer_and_not_its_own) {
  asio::steady_timer gate(io);
  gate.expires_at(asio::steady_timer::time_point::max());
  counted_work slow;
  slow.gate = &gate;
  std::optional<execution> out;
  auto keep = [&](std::exception_ptr, execution got) { out = std::move(got); };
  asio::co_spawn(io, tested->execute(io, op(), slow), keep);
  until([&] { return slow.runs == 1; });
  clock.advance(milliseconds(40'000));  // for the store the lease is over, for the holder not
  policy.unknown = unknown_policy::rerun;
  counted_work quick;
  quick.runs = 10;
  EXPECT_EQ(execute(quick).kind, execution_kind::ran);
  gate.cancel();
  until([&] { return out.has_value(); });
  EXPECT_EQ(out->kind, execution_kind::stored);
  EXPECT_EQ(out->answer->body, "run 11");
}

TEST_F(engine_over_faults, a_waiter_gets_the_first_ones_answer) {
  policy.on_busy = on_busy_rule::wait;
  asio::steady_timer gate(io);
  gate.expires_at(asio::steady_timer::time_point::max());
  counted_work first;
  first.gate = &gate;
  counted_work never;
  std::vector<execution> out;
  auto keep = [&](std::exception_ptr, execution got) { out.push_back(std::move(got)); };
  asio::co_spawn(io, tested->execute(io, op(), first), keep);
  until([&] { return first.runs == 1; });
  for (int i = 0; i < 20; ++i) asio::co_spawn(io, tested->execute(io, op(), never), keep);
  until([&] { return tested->counters().busy >= 20; });
  gate.cancel();
  until([&] { return out.size() == 21; });
  EXPECT_EQ(never.runs, 0);
  for (std::size_t i = 1; i < out.size(); ++i) {
    EXPECT_EQ(out[i].kind, execution_kind::stored);
    EXPECT_EQ(out[i].answer->body, "run 1");
  }
}

TEST_F(engine_over_faults, when_the_first_is_released_one_waiter_runs) {
  policy.on_busy = on_busy_rule::wait;
  asio::steady_timer gate(io);
  gate.expires_at(asio::steady_timer::time_point::max());
  counted_work first;
  first.gate = &gate;
  first.ends = settle_kind::release;
  counted_work second;
  std::vector<execution> out;
  auto keep = [&](std::exception_ptr, execution got) { out.push_back(std::move(got)); };
  asio::co_spawn(io, tested->execute(io, op(), first), keep);
  until([&] { return first.runs == 1; });
  for (int i = 0; i < 8; ++i) asio::co_spawn(io, tested->execute(io, op(), second), keep);
  until([&] { return tested->counters().busy >= 8; });
  gate.cancel();
  until([&] { return out.size() == 9; });
  EXPECT_EQ(second.runs, 1);
}

TEST_F(engine_over_faults, waiting_ends_with_the_wait) {
  policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(30);
  claim held;
  held.id = op().id;
  base::random_bytes(held.nonce);
  held.about = op().about;
  std::vector<claim> batch(1, held);
  EXPECT_TRUE(run(io, store.claim(batch, milliseconds(100)))[0]);
  counted_work w;
  EXPECT_EQ(execute(w).kind, execution_kind::busy);
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
  EXPECT_EQ(execute(w).kind, execution_kind::busy);
}

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
