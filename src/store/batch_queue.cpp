#include "store/batch_queue.hpp"

#include <algorithm>
#include <iterator>

namespace onceguard {

bool batch_queue::push(std::vector<call_ptr>& calls) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (calls_.empty()) {
      calls_.swap(calls);
    } else {
      std::move(calls.begin(), calls.end(), std::back_inserter(calls_));
    }
    wake = asleep_.exchange(false);
    // Under the lock: once the queue is closed, the worker that `on_wake_` wakes may be gone.
    if (wake && on_wake_) on_wake_();
  }
  calls.clear();
  if (wake) wake_.notify_one();
  return true;
}

bool batch_queue::wait(std::vector<call_ptr>& out, std::size_t most) {
  std::unique_lock lock(mutex_);
  while (calls_.empty() && !closed_) {
    asleep_ = true;
    wake_.wait(lock);
  }
  asleep_ = false;
  if (calls_.empty()) return false;
  move_out(out, most);
  return true;
}

void batch_queue::take(std::vector<call_ptr>& out, std::size_t most) {
  const std::lock_guard lock(mutex_);
  move_out(out, most);
}

bool batch_queue::poll(std::vector<call_ptr>& out) {
  const std::lock_guard lock(mutex_);
  asleep_ = calls_.empty();
  if (calls_.empty()) return false;
  move_out(out, calls_.size() - first_);
  return true;
}

void batch_queue::close() {
  {
    const std::lock_guard lock(mutex_);
    if (on_wake_ && !closed_) on_wake_();
    closed_ = true;
    asleep_ = false;
  }
  wake_.notify_one();
}

bool batch_queue::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::vector<store_number> batch_queue::numbers() const {
  const std::lock_guard lock(mutex_);
  return {
      {"onceguard_store_calls_total", "Claims, settles and other calls that the store took.",
       static_cast<double>(calls_taken_)},
      {"onceguard_store_batches_total", "Batches in which the store took its calls.",
       static_cast<double>(batches_)},
      {"onceguard_store_queue_calls", "Calls that wait for the store.",
       static_cast<double>(calls_.size() - first_), false},
  };
}

void batch_queue::move_out(std::vector<call_ptr>& out, std::size_t most) {
  const auto begin = calls_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto count = std::min<std::size_t>(most, calls_.size() - first_);
  std::move(begin, begin + static_cast<std::ptrdiff_t>(count), std::back_inserter(out));
  first_ += count;
  calls_taken_ += count;
  batches_ += count != 0 ? 1 : 0;
  if (first_ == calls_.size()) {
    calls_.clear();
    first_ = 0;
  }
}

}  // namespace onceguard
