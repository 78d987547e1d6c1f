// What happens once, and those who wait for it on several threads.
#include "base/latch.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "support/run.hpp"

namespace onceguard::base {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds long_enough{60'000};

TEST(latchs, wake_all_who_wait_on_any_thread) {
  latch tested;
  std::atomic<int> woken{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      asio::io_context io(1);
      auto count = [&](std::exception_ptr, bool happened) { woken += happened ? 1 : 0; };
      for (int j = 0; j < 5; ++j) asio::co_spawn(io, tested.wait(long_enough), count);
      io.poll();
      ++ready;
      io.run();
    });
  }
  while (ready < 4) std::this_thread::yield();
  tested.happen();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(woken, 20);
  EXPECT_TRUE(onceguard::testing::run(tested.wait(long_enough)));  // it stays so
}

TEST(latchs, are_not_waited_for_any_longer_than_said) {
  latch tested;
  EXPECT_FALSE(onceguard::testing::run(tested.wait(milliseconds(1))));
  EXPECT_FALSE(tested.happened());
}

TEST(latchs, reach_for_nobody_who_is_gone) {
  latch tested;
  {
    asio::io_context io(1);
    auto never = [](std::exception_ptr, bool) { ADD_FAILURE() << "nobody ran it"; };
    asio::co_spawn(io, tested.wait(long_enough), never);
    io.poll();
  }
  tested.happen();
}

TEST(latchs, do_not_wake_a_waiter_that_gave_up) {
  latch tested;
  asio::io_context io(1);
  auto never = [](std::exception_ptr, bool) { ADD_FAILURE() << "it was to be forgotten"; };
  asio::co_spawn(io, tested.wait(long_enough), never);
  io.poll();
  tested.forget();
  tested.happen();
  EXPECT_EQ(io.poll(), 0u);
}

}  // namespace
}  // namespace onceguard::base
