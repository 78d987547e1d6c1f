// A subscription on a broker whose faults the test decides.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/subscription.hpp>

#include "messaging/subscription/scripted_broker.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

using messaging::batch_worker;
using messaging::delivered;
using messaging::run_subscription;
using messaging::subscription_event;
using messaging::subscription_params;
using outcomes = std::vector<inbox_outcome>;

inline inbox_outcome one_of(inbox_result kind, milliseconds retry_after = milliseconds(0)) {
  inbox_outcome out;
  out.kind = kind;
  out.retry_after = retry_after;
  out.reason = "because";
  return out;
}

class subscription_fixture : public ::testing::Test {
 protected:
  subscription_fixture() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = test->name();
    queue_ = scripted_queue_of(name);
    dead_ = scripted_queue_of(name + "_dead");
    params_.queue.url = "test://broker/" + name;
    params_.queue.in_flight = 8;
    params_.retry = milliseconds(5);
    params_.batch = 4;
    params_.dead_letters.emplace();
    params_.dead_letters->url = "test://broker/" + name + "_dead";
    params_.on_event = [this](const subscription_event& happened) {
      const std::lock_guard locked(mutex_);
      events_.push_back(happened.kind);
    };
  }

  /// A worker that asks `answer` for each message.
  static std::function<batch_worker()> answering(
      std::function<inbox_outcome(const delivered&)> answer) {
    return [answer = std::move(answer)]() -> batch_worker {
      return [answer](std::span<const delivered> batch) -> result<outcomes> {
        outcomes out;
        for (const auto& one : batch) out.push_back(answer(one));
        return out;
      };
    };
  }

  /// Runs until the condition comes true, and once more after that.
  result<void> run(const std::function<batch_worker()>& worker,
                   const std::function<bool()>& condition) {
    std::stop_source stop;
    result<void> ended;
    std::jthread loop([&] { ended = run_subscription(params_, stop.get_token(), worker); });
    wait_until("the subscription", condition);
    stop.request_stop();
    loop.join();
    return ended;
  }
  [[nodiscard]] std::size_t count(messaging::subscription_event_kind kind) {
    const std::lock_guard locked(mutex_);
    return static_cast<std::size_t>(std::count(events_.begin(), events_.end(), kind));
  }

  std::shared_ptr<scripted_queue> queue_;
  std::shared_ptr<scripted_queue> dead_;
  subscription_params params_;
  std::mutex mutex_;
  std::vector<messaging::subscription_event_kind> events_;
};

}  // namespace onceguard::testing
