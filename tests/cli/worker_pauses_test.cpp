// Workers that share a subscriber: a pause is for all of them.
#include "cli/services/worker_pauses.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "support/waiting.hpp"

namespace onceguard::cli::services {
namespace {

using onceguard::testing::wait_until;

TEST(worker_pauses, are_for_all_workers_of_the_name) {
  worker_pauses pauses;
  std::atomic<int> working = 0;
  std::stop_source end;
  const auto work = [&working](const std::stop_token& stop) {
    ++working;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait(lock, stop, [] { return false; });
    --working;
    return 0;
  };
  const auto run = [&] { pauses.run("bills", end.get_token(), work); };
  std::jthread first(run);
  std::jthread second(run);
  wait_until("both workers", [&] { return working == 2; });
  pauses.pause("bills");
  wait_until("the pause", [&] { return working == 0; });
  pauses.resume("bills");
  wait_until("both once more", [&] { return working == 2; });
  end.request_stop();
}

TEST(worker_pauses, let_nothing_begin) {
  worker_pauses pauses;
  pauses.pause("bills");
  std::stop_source end;
  std::atomic<int> begun = 0;
  const auto count = [&begun](const std::stop_token&) { return ++begun; };
  std::jthread paused([&] { pauses.run("bills", end.get_token(), count); });
  // As many turns of others as a worker needs that does not heed the pause.
  for (int turn = 0; turn < 1'000; ++turn) {
    std::jthread([&] { pauses.run("others", end.get_token(), count); }).join();
  }
  end.request_stop();
  paused.join();
  EXPECT_EQ(begun, 1'000);
}

}  // namespace
}  // namespace onceguard::cli::services
