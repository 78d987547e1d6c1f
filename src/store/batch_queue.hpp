// The queue of calls for a store's worker thread: all calls of one turn of an I/O loop go in
// together, batches come out.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <onceguard/store.hpp>

#include "store/worker_call.hpp"

namespace onceguard {

/// Thread-safe; one thread takes calls out.
class batch_queue {
 public:
  /// For a worker that sleeps in `wait`.
  batch_queue() = default;
  /// For a worker with an event loop, which takes calls by `poll`. `wake` is called once when a
  /// call comes after `poll` found none, and when the queue is closed. Any thread may call it,
  /// under the queue's lock, but none after `close` has returned. It must not block or throw.
  explicit batch_queue(std::function<void()> wake) : on_wake_(std::move(wake)) {}

  /// Takes all of `calls`, and wakes the worker only if it sleeps. False: closed, nothing was
  /// taken.
  [[nodiscard]] bool push(std::vector<call_ptr>& calls);
  /// Waits for at least one call, and appends up to `most` to `out`. False: closed and empty.
  [[nodiscard]] bool wait(std::vector<call_ptr>& out, std::size_t most);
  /// As `wait`, but does not wait for a call.
  void take(std::vector<call_ptr>& out, std::size_t most);
  /// Appends all calls to `out`. False: there is none, and the next push wakes the worker.
  [[nodiscard]] bool poll(std::vector<call_ptr>& out);
  /// Does the worker wait for work right now? Only a hint.
  [[nodiscard]] bool asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// Refuses further calls. The calls in the queue are still to be taken out.
  void close();
  [[nodiscard]] bool closed();
  /// How much has passed, and how much waits, for store::numbers().
  [[nodiscard]] std::vector<store_number> numbers() const;

 private:
  void move_out(std::vector<call_ptr>& out, std::size_t most);

  const std::function<void()> on_wake_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<call_ptr> calls_;
  std::size_t first_ = 0;            // the calls before it were taken out
  std::atomic<bool> asleep_{false};  // written under the mutex
  bool closed_ = false;
  std::uint64_t calls_taken_ = 0;
  std::uint64_t batches_ = 0;
};

}  // namespace onceguard
