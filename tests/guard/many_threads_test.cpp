// guard::async_execute on executors that several threads run.
#include <atomic>
#include <future>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <onceguard/guard.hpp>

#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

namespace asio = boost::asio;
using text_result = execution<std::string>;

class guard_on_many_threads : public ::testing::Test {
 protected:
  testing::temporary_folder folder;
  guard guarded = guard::open("sqlite:" + folder.file("records.db")).value();
  std::atomic<int> runs = 0;
  asio::thread_pool pool{4};
  route_policy waits;

  void SetUp() override { waits.on_busy = on_busy_rule::wait; }

  asio::awaitable<std::string> work() { co_return "run " + std::to_string(++runs); }
  asio::awaitable<text_result> call(int key) {
    const request wanted{"tenant-1", "key-" + std::to_string(key), "EUR 20"};
    auto counted = [this] { return work(); };
    co_return co_await guarded.async_execute(wanted, waits, std::move(counted));
  }
};

TEST_F(guard_on_many_threads, each_operation_runs_once) {
  constexpr int keys = 20;
  std::vector<std::future<text_result>> results;
  for (int i = 0; i < 10 * keys; ++i) {
    results.push_back(asio::co_spawn(pool, call(i % keys), asio::use_future));
  }
  for (auto& one : results) {
    const auto got = one.get();
    EXPECT_TRUE(got) << got.error().detail;
  }
  EXPECT_EQ(runs, keys);
}

TEST_F(guard_on_many_threads, a_caller_on_a_strand_stays_there) {
  const auto strand = asio::make_strand(pool);
  auto done = asio::co_spawn(
      strand,
      [&]() -> asio::awaitable<bool> {
        static_cast<void>(co_await call(1));
        co_return strand.running_in_this_thread();
      },
      asio::use_future);
  EXPECT_TRUE(done.get());
}

}  // namespace
}  // namespace onceguard
