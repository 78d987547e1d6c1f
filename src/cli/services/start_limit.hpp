// A start that takes too long, wherever it hangs.
#pragma once
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

namespace onceguard::cli::services {

/// Calls `at_end` on a thread of its own after that time, unless the object is gone by then: the
/// start is over. Destroyed by any other thread.
class start_limit {
 public:
  start_limit(std::chrono::milliseconds patience, std::function<void()> at_end);

 private:
  std::jthread thread_;
};

}  // namespace onceguard::cli::services
