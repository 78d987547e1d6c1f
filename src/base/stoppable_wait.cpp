#include "base/stoppable_wait.hpp"

#include <condition_variable>
#include <mutex>

#include "base/clock.hpp"

namespace onceguard::base {

bool wait_unless(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, bounded(time), [] { return false; });
  return !stop.stop_requested();
}

}  // namespace onceguard::base
