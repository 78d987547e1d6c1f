#include "cli/services/start_limit.hpp"

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <utility>

namespace onceguard::cli::services {
namespace {

void wait(const std::stop_token& over, std::chrono::milliseconds patience,
          const std::function<void()>& at_end) {
  ::pthread_setname_np(::pthread_self(), "og-start");
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  ended.wait_for(lock, over, patience, [] { return false; });
  if (!over.stop_requested()) at_end();
}

}  // namespace

start_limit::start_limit(std::chrono::milliseconds patience, std::function<void()> at_end)
    : thread_([patience, call = std::move(at_end)](const std::stop_token& over) {
        wait(over, patience, call);
      }) {}

}  // namespace onceguard::cli::services
