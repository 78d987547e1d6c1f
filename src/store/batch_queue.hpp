// What waits for a store's worker thread: whole turns of an I/O loop go in, batches come out.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "store/call.hpp"

namespace onceguard {

/// Thread-safe; one thread takes out.
class batch_queue {
 public:
  /// For a worker that waits in `wait`.
  batch_queue() = default;
  /// For a worker with an event loop, which takes by `poll`: `wake` is called once when something
  /// comes after `poll` found nothing, and when the queue is closed. It is called under the
  /// queue's lock, by any thread, never after `close` has returned; it must not block or throw.
  explicit batch_queue(std::function<void()> wake) : on_wake_(std::move(wake)) {}

  /// Takes all of `calls`, and wakes the worker only if it sleeps. False: closed, nothing taken.
  [[nodiscard]] bool push(std::vector<call_ptr>& calls);
  /// Waits for at least one, and appends up to `most` to `out`. False: closed, and nothing left.
  [[nodiscard]] bool wait(std::vector<call_ptr>& out, std::size_t most);
  /// As `wait`, but takes only what is there now.
  void take(std::vector<call_ptr>& out, std::size_t most);
  /// Appends all that is there to `out`. False: nothing is, and the next push wakes the worker.
  [[nodiscard]] bool poll(std::vector<call_ptr>& out);
  /// Does the worker wait for work right now? Only a hint.
  [[nodiscard]] bool asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// No more goes in. What is in is still to be taken out.
  void close();
  [[nodiscard]] bool closed();

 private:
  void move_out(std::vector<call_ptr>& out, std::size_t most);

  const std::function<void()> on_wake_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<call_ptr> calls_;
  std::size_t first_ = 0;            // those before it were taken out
  std::atomic<bool> asleep_{false};  // written under the mutex
  bool closed_ = false;
};

}  // namespace onceguard
