// Polls the store for an engine: reads the store's vitals each second, sweeps, and knows whether
// claims may be made.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "engine/outage.hpp"
#include "engine/replay_cache.hpp"
#include "engine/witness.hpp"

namespace onceguard {

// Notices that a store lost its memory (invariant: such a loss is never silent).

/// Calls of compare() must not overlap; the const members may be called at any time.
class loss_watch {
 public:
  using time_point = base::boot_clock::time_point;

  /// Reads the witness file, if there is a state_dir and a file. The consequences of a loss that
  /// was noticed before the restart stay in force: a restart makes nothing safe again.
  explicit loss_watch(const engine_params& params);

  /// Whether the witness file can be written; errc::invalid_argument gives the reason if not.
  [[nodiscard]] result<void> check() const { return witness_.check(); }

  enum class change : std::uint8_t { none, forgotten, lost };
  /// Compares with the previous vitals, and writes the witness if they changed.
  change compare(const vitals& now, time_point time);

  /// How long no new claims may be made after a loss, with after_loss = refuse. 0: claims may be
  /// made.
  [[nodiscard]] milliseconds refuses_for(time_point time) const noexcept;
  /// Whether a new run may repeat an operation that the store has forgotten.
  [[nodiscard]] bool maybe_repeated(time_point time) const noexcept;
  /// See engine::expect(). From any thread.
  void expect(milliseconds quiet, milliseconds retention) noexcept;

 private:
  void lost(time_point time);

  const after_loss_rule rule_;
  std::atomic<std::int64_t> quiet_ms_;
  std::atomic<std::int64_t> retention_ms_;
  witness witness_;
  std::optional<vitals> last_;
  std::uint64_t written_generation_ = 0;
  std::atomic<std::int64_t> refuse_until_{0};  // steady clock, ms; 0: no
  std::atomic<std::int64_t> flagged_until_{0};
};

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
  std::atomic<bool> stopping_{false};
};

}  // namespace onceguard
