// An event that happens once, for which coroutines on several I/O threads can wait.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace onceguard::base {

/// Thread-safety: every member may be called from any thread. Waiting coroutines must keep the
/// event alive.
class latch {
 public:
  latch() = default;
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  /// Wakes all waiting coroutines. None of their io_contexts may be under destruction: see
  /// forget().
  void happen();
  [[nodiscard]] bool happened() const;
  /// True as soon as the event has happened, false when `timeout` is over first. Needs an
  /// io_context that one thread runs.
  boost::asio::awaitable<bool> wait(std::chrono::milliseconds timeout);
  /// Drops all waiting coroutines without waking them, once their io_contexts no longer run.
  void forget();

 private:
  class slot;
  using timer_ptr = std::shared_ptr<boost::asio::steady_timer>;

  mutable std::mutex mutex_;
  bool happened_ = false;
  std::vector<timer_ptr> waiting_;
};

}  // namespace onceguard::base
