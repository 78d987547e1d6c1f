// The spans that wait for their way to the collector.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::trace {

/// Each element has the spans of one request, as JSON objects with commas between. Thread-safe.
class span_queue {
 public:
  span_queue(std::size_t elements_max, std::size_t batch_max)
      : elements_max_(elements_max), batch_max_(batch_max) {}

  /// Never waits for the other end: if the queue is full, the element is dropped and counted.
  void push(std::string spans) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= elements_max_) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      waiting_.push_back(std::move(spans));
      if (waiting_.size() != batch_max_) return;
    }
    changed_.notify_one();
  }

  /// Waits until a batch is full, until `delay` has passed, or for the end. Returns at most a
  /// batch.
  [[nodiscard]] std::vector<std::string> take(milliseconds delay) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, delay, [&] { return ended_ || waiting_.size() >= batch_max_; });
    if (waiting_.size() <= batch_max_) return std::exchange(waiting_, {});
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch_max_);
    std::vector<std::string> out(std::make_move_iterator(waiting_.begin()),
                                 std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return out;
  }

  /// From now on, take() does not wait.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  /// Waits for `pause`, or for the end.
  void rest(milliseconds pause) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [&] { return ended_; });
  }

  /// Requests whose spans were lost, here or on their way.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }
  void count_dropped(std::size_t elements) noexcept {
    dropped_.fetch_add(elements, std::memory_order_relaxed);
  }

 private:
  const std::size_t elements_max_;
  const std::size_t batch_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> waiting_;  // under the mutex
  bool ended_ = false;                // under the mutex
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace onceguard::trace
