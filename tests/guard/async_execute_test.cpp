// guard::async_execute, on the caller's own io_context, and guard::start with callbacks.
#include <future>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/testing.hpp>

#include "support/faulty_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using text_result = execution<std::string>;

const request payment{"tenant-1", "key-1", "EUR 20"};

class guard_async : public ::testing::Test {
 protected:
  testing::store_in_hand records;
  guard guarded = guard::open(records.open()).value();
  asio::io_context io{1};
  asio::steady_timer gate{io, asio::steady_timer::time_point::max()};
  route_policy waits;
  int runs = 0;

  void SetUp() override { waits.on_busy = on_busy_rule::wait; }

  asio::awaitable<std::string> quick_work() { co_return "run " + std::to_string(++runs); }
  asio::awaitable<std::string> slow_work() {
    ++runs;
    co_await gate.async_wait(asio::use_awaitable);
    co_return "slow";
  }
  /// Starts the call on `io`; the result comes when `io` ran.
  template <class Call>
  std::shared_ptr<std::promise<text_result>> begin(Call call, asio::cancellation_slot slot = {}) {
    auto got = std::make_shared<std::promise<text_result>>();
    asio::co_spawn(
        io, std::move(call),
        asio::bind_cancellation_slot(slot, [got](std::exception_ptr thrown, text_result value) {
          if (thrown) {
            got->set_exception(thrown);
          } else {
            got->set_value(std::move(value));
          }
        }));
    return got;
  }
  text_result run(asio::awaitable<text_result> call) {
    auto got = begin(std::move(call));
    io.restart();
    io.run();
    return got->get_future().get();
  }
};

TEST_F(guard_async, repeat_gets_the_first_result) {
  const auto call = [&] { return guarded.async_execute(payment, [&] { return quick_work(); }); };
  const auto first = run(call());
  const auto second = run(call());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->value, "run 1");
  EXPECT_TRUE(second->replayed);
  EXPECT_EQ(runs, 1);
}

TEST_F(guard_async, exception_of_the_work_is_rethrown) {
  const auto breaks = []() -> asio::awaitable<std::string> {
    throw not_done("closed");
    co_return "";
  };
  EXPECT_THROW(static_cast<void>(run(guarded.async_execute(payment, breaks))), not_done);
  EXPECT_TRUE(run(guarded.async_execute(payment, [&] { return quick_work(); })));
}

TEST_F(guard_async, twin_waits_and_gets_the_answer_of_the_first) {
  gate.expires_after(100ms);
  auto first = begin(guarded.async_execute(payment, waits, [&] { return slow_work(); }));
  auto twin = begin(guarded.async_execute(payment, waits, [&] { return quick_work(); }));
  io.run();
  EXPECT_EQ(first->get_future().get()->value, "slow");
  const auto got = twin->get_future().get();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->replayed);
  EXPECT_EQ(runs, 1);
}

TEST_F(guard_async, cancellation_ends_a_wait_and_claims_nothing) {
  records.make_busy(payment, 120s);
  waits.wait = 60s;
  asio::cancellation_signal leave;
  auto got =
      begin(guarded.async_execute(payment, waits, [&] { return quick_work(); }), leave.slot());
  asio::steady_timer later(io, 50ms);
  later.async_wait([&](auto) { leave.emit(asio::cancellation_type::terminal); });
  const auto begun = std::chrono::steady_clock::now();
  io.run();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s) << "the policy would wait for 60 s";
  const auto refused = got->get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, refusal_kind::busy);
  EXPECT_EQ(runs, 0);
}

TEST_F(guard_async, cancellation_between_the_claim_and_the_work_releases_the_key) {
  const auto inner = records.open();
  auto slow = std::make_unique<faulty_store>(*inner);
  auto& store = *slow;
  auto own = guard::open(std::move(slow)).value();
  store.fail(store_call::claim, store_fault::delay_after, 1);
  asio::cancellation_signal leave;
  auto got = begin(own.async_execute(payment, [&] { return quick_work(); }), leave.slot());
  testing::wait_until("the claim", [&] {
    io.poll();
    return store.waiting() == 1;
  });
  leave.emit(asio::cancellation_type::terminal);
  store.let_go();
  io.run();
  try {
    static_cast<void>(got->get_future().get());
    ADD_FAILURE() << "it was not cancelled";
  } catch (const boost::system::system_error& cancelled) {
    EXPECT_EQ(cancelled.code(), asio::error::operation_aborted);
  }
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(run(guarded.async_execute(payment, [&] { return quick_work(); })));
}

TEST_F(guard_async, cancellation_amid_the_work_reaches_the_work_and_its_lease_is_settled) {
  asio::cancellation_signal leave;
  auto got = begin(guarded.async_execute(payment, [&] { return slow_work(); }), leave.slot());
  asio::steady_timer later(io, 50ms);
  later.async_wait([&](auto) { leave.emit(asio::cancellation_type::terminal); });
  io.run();
  EXPECT_THROW(static_cast<void>(got->get_future().get()), boost::system::system_error);
  const auto again = run(guarded.async_execute(payment, [&] { return quick_work(); }));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, refusal_kind::unknown) << "not busy: the lease ended at once";
}

/// The executors on which services run their coroutines.
enum class kind_of_executor : std::uint8_t { loop, loop_of_many, pool, strand };

class guard_executors : public ::testing::TestWithParam<kind_of_executor> {};
INSTANTIATE_TEST_SUITE_P(all, guard_executors,
                         ::testing::Values(kind_of_executor::loop, kind_of_executor::loop_of_many,
                                           kind_of_executor::pool, kind_of_executor::strand));

TEST_P(guard_executors, store_with_threads_of_its_own_serves_many_coroutines) {
  constexpr int operations = 200, repeats = 3;
  const testing::temporary_folder folder;
  guard_params patient;  // a busy disk is no store that is away
  patient.store_timeout = 60s;
  auto guarded = guard::open("sqlite:" + folder.file("guard.db"), patient).value();
  const auto which = GetParam();
  const int threads = which == kind_of_executor::loop ? 1 : 4;
  asio::io_context io(threads);
  asio::thread_pool pool(4);
  route_policy waits;
  waits.on_busy = on_busy_rule::wait;
  waits.wait = 60s;
  std::atomic<int> runs{0}, right{0};
  const auto call = [&](int number) -> asio::awaitable<void> {
    const request wanted{"tenant", std::to_string(number)};
    const auto work = [&]() -> asio::awaitable<std::string> {
      ++runs;
      co_return wanted.key;
    };
    const auto got = co_await guarded.async_execute(wanted, waits, work);
    if (got && got->value == wanted.key) ++right;
  };
  for (int number = 0; number < operations * repeats; ++number) {
    asio::any_io_executor executor = io.get_executor();
    if (which == kind_of_executor::pool) executor = pool.get_executor();
    if (which == kind_of_executor::strand) executor = asio::make_strand(pool);
    asio::co_spawn(executor, call(number % operations), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(std::move(thrown));
    });
  }
  std::vector<std::thread> loops;
  for (int i = 0; i < threads; ++i) loops.emplace_back([&io] { io.run(); });
  for (auto& loop : loops) loop.join();
  pool.join();
  EXPECT_EQ(runs, operations);
  EXPECT_EQ(right, operations * repeats);
}

TEST_F(guard_async, job_is_finished_later_from_another_thread) {
  std::promise<text_result> got;
  std::thread worker;
  guarded.start<std::string>(
      payment, guarded.policy(),
      [&](job<std::string> begun) {
        worker = std::thread([begun = std::move(begun)]() mutable {
          EXPECT_EQ(begun.lease().attempt(), 1u);
          std::move(begun).finish("from a thread");
        });
      },
      [&](text_result result) { got.set_value(std::move(result)); });
  const auto result = got.get_future().get();
  worker.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->value, "from a thread");
}

TEST_F(guard_async, job_that_is_dropped_is_in_doubt) {
  std::promise<text_result> got;
  guarded.start<std::string>(
      payment, guarded.policy(), [](const job<std::string>&) {},
      [&](text_result result) { got.set_value(std::move(result)); });
  const auto result = got.get_future().get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, refusal_kind::unknown);
}

TEST_F(guard_async, job_that_is_finished_twice_throws) {
  std::promise<text_result> got;
  guarded.start<std::string>(
      payment, guarded.policy(),
      [](job<std::string> begun) {
        std::move(begun).finish("first");
        // NOLINTNEXTLINE(bugprone-use-after-move): the misuse is what is tested
        EXPECT_THROW(std::move(begun).finish("second"), std::logic_error);
      },
      [&](text_result result) { got.set_value(std::move(result)); });
  EXPECT_EQ(got.get_future().get()->value, "first");
}

TEST_F(guard_async, job_that_fails_says_so) {
  std::promise<text_result> got;
  guarded.start<std::string>(
      payment, guarded.policy(),
      [](job<std::string> begun) {
        std::move(begun).fail(std::make_exception_ptr(not_done("no such account")));
      },
      [&](text_result result) { got.set_value(std::move(result)); });
  EXPECT_FALSE(got.get_future().get());
  EXPECT_TRUE(guarded.execute(payment, [] { return std::string("free again"); }));
}

}  // namespace
}  // namespace onceguard
