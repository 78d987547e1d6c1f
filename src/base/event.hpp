// Something that happens once, and those who wait for it on several I/O threads.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace onceguard::base {

/// Thread-safety: every member may be called from any thread. Who waits keeps it alive.
class event {
 public:
  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Wakes all who wait. No io_context of theirs may be under destruction meanwhile: see forget().
  void happen();
  [[nodiscard]] bool happened() const;
  /// True as soon as it has happened; false when the time is up before. On an io_context that one
  /// thread runs.
  boost::asio::awaitable<bool> wait(std::chrono::milliseconds timeout);
  /// Nobody who waits now is woken any more: their io_contexts run no longer.
  void forget();

 private:
  class slot;
  using timer_ptr = std::shared_ptr<boost::asio::steady_timer>;

  mutable std::mutex mutex_;
  bool happened_ = false;
  std::vector<timer_ptr> waiting_;
};

}  // namespace onceguard::base
