// An engine over a store that goes wrong on request.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <onceguard/engine.hpp>

#include "engine/held_lease.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/manual_clock.hpp"
#include "support/run.hpp"

namespace onceguard {

namespace asio = boost::asio;
using testing::run;

/// Work that counts how often it ran, and settles as the test wants.
struct counted_work {
  settle_kind ends = settle_kind::complete;
  effect_status says = effect_status::unknown;
  int runs = 0;
  int questions = 0;
  int unguarded = 0;
  bool throws = false;
  bool sends_late = false;  // behind the gate, not before it
  bool may_send = true;
  std::size_t padding = 0;  // of the answer
  milliseconds retention = settle_terms().retention;
  asio::steady_timer* gate = nullptr;
  asio::awaitable<settle_terms> run(lease_handle& held) {
    ++runs;
    if (!sends_late) may_send = held.begin_sending();
    if (gate != nullptr) {
      boost::system::error_code opened;
      co_await gate->async_wait(asio::redirect_error(asio::use_awaitable, opened));
    }
    if (sends_late) may_send = held.begin_sending();
    if (throws) throw std::runtime_error("the work broke");
    settle_terms request;
    request.kind = ends;
    request.retention = retention;
    auto a = std::make_shared<answer>();
    a->status = 201;
    a->body = "run " + std::to_string(runs) + std::string(padding, '.');
    request.answer = a;
    co_return request;
  }
  effect_report ask() {
    ++questions;
    auto known = std::make_shared<answer>();
    known->status = 204;
    return {says, std::move(known), {}};
  }
};

/// A front door: claims, works, settles.
inline asio::awaitable<outcome> operate(engine& engine, asio::io_context& io, operation op,
                                        counted_work& work) {
  auto claimed = co_await engine.claim(io, std::move(op));
  if (claimed.outcome.kind == outcome_kind::unguarded) ++work.unguarded;
  if (!claimed.lease) co_return claimed.outcome;
  auto lease = std::move(*claimed.lease);
  if (lease.must_probe()) {
    if (auto ended = co_await lease.conclude(work.ask())) co_return std::move(*ended);
  }
  auto terms = co_await work.run(lease);
  co_return co_await lease.settle(std::move(terms));
}

/// Also where there is none: then a test says so, and does not crash.
inline std::string body_of(const outcome& got) {
  return got.answer ? got.answer->body
                    : "no answer, kind " + std::to_string(static_cast<int>(got.kind));
}

class engine_over_faults : public ::testing::Test {
 protected:
  base::manual_clock clock;
  memory_store inner{clock};
  faulty_store store{inner};
  byte_budget budget{1u << 20};
  route_policy policy;
  engine_params params;
  std::unique_ptr<engine> tested;
  asio::io_context io;  // ends before the engine: what still waits on it belongs to that
  asio::steady_timer gate{io, asio::steady_timer::time_point::max()};
  std::optional<outcome> first_;

  void SetUp() override {
    params.settle_wait = milliseconds(0);
    params.store_timeout = milliseconds(500);
    make();
  }
  void make() {
    tested = std::make_unique<engine>(store, params, budget);
    EXPECT_TRUE(run(io, tested->poll_store()));
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
  outcome execute(counted_work& doing, operation operation) {
    return run(io, operate(*tested, io, std::move(operation), doing));
  }
  outcome execute(counted_work& doing) { return execute(doing, op()); }
  /// Begins one whose work goes on until let_go().
  void begin(counted_work& doing) {
    begin_soon(doing);
    until([&] { return doing.runs == 1; });
  }
  /// The same, and does not wait until it runs.
  void begin_soon(counted_work& doing) {
    doing.gate = &gate;
    auto keep = [this](std::exception_ptr, outcome got) { first_ = std::move(got); };
    asio::co_spawn(io, operate(*tested, io, op(), doing), keep);
  }
  void end_held_leases() {
    auto ending = [this]() -> asio::awaitable<int> {
      co_await tested->end_held_leases();
      co_return 0;
    };
    run(io, ending());
  }
  outcome let_go() {
    gate.cancel();
    until([&] { return first_.has_value(); });
    return first_.value();
  }
  observed_state state() {
    const auto found = run(io, inner.find(op().id, milliseconds(100)));
    return *found ? (*found)->state : observed_state::released;
  }
  /// Runs the loop until the condition holds; fails after a minute.
  template <class Condition>
  void until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    io.restart();
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the condition never held";
      io.run_one_for(std::chrono::milliseconds(20));
      io.restart();
    }
  }
};

}  // namespace onceguard
