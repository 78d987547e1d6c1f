// Polls the store for an engine: reads the store's vitals each second, sweeps, and knows whether
// claims may be made.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/store.hpp>

#include "engine/loss_watch.hpp"
#include "engine/outage.hpp"
#include "engine/replay_cache.hpp"

namespace onceguard {

/// Thread-safe. Must outlive the coroutines that it starts; these end with their io_context.
class store_monitor {
 public:
  store_monitor(store& records, const engine_params& params, replay_cache& cache,
                engine_counters& counters);

  /// See engine::check(), poll_store() and expect().
  [[nodiscard]] result<void> check() const { return loss_.check(); }
  /// A failure is logged.
  boost::asio::awaitable<result<void>> poll();
  void expect(milliseconds loss_quiet, milliseconds longest_retention) {
    loss_.expect(loss_quiet, longest_retention);
  }

  void start(boost::asio::io_context& io);
  void stop() noexcept { stopping_ = true; }

  /// Whether the store has answered a poll and has not lost its memory since.
  [[nodiscard]] bool knows_store() const noexcept { return known_; }
  /// Takes note of an error of the store. The error store_lost can arrive before a poll notices the
  /// loss.
  void note(const error& why) noexcept;
  /// The store has answered a call, and wrote for it or not.
  void answered(bool wrote = true) { outage_.answered(wrote); }
  [[nodiscard]] const loss_watch& loss() const noexcept { return loss_; }
  /// See engine::health().
  [[nodiscard]] store_health health() const;

 private:
  struct shared_poll;

  boost::asio::awaitable<result<void>> poll_now();
  void poll_failed(const error& why);
  boost::asio::awaitable<void> keep_polling();
  boost::asio::awaitable<void> keep_checking_writes();
  boost::asio::awaitable<void> keep_sweeping();

  store& store_;
  const engine_params& params_;
  replay_cache& cache_;
  engine_counters& counters_;
  loss_watch loss_;
  outage outage_;
  std::mutex mutex_;
  std::shared_ptr<shared_poll> polling_;  // under the mutex; null: no poll is under way
  std::atomic<bool> known_{false};
  std::atomic<std::int64_t> swept_wall_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace onceguard
