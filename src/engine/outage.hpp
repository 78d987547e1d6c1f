// Notices that a store does not answer or takes no writes, and that it does again: one event each,
// however many calls fail; and what its polls say.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// Thread-safe. Costs a relaxed load for each answer while no call fails.
class outage {
 public:
  explicit outage(std::string store_name) : store_name_(std::move(store_name)) {}

  /// A call failed. Only a store out of reach, or without room, counts. It is away if calls have
  /// failed for a while without an answer in between: one call may fail for a reason of its own.
  void call_failed(const error& why) { failed(why, false); }
  /// A poll failed: a store that does not answer a poll is away.
  void poll_failed(const error& why);
  void poll_answered();
  /// What `check_writes` said: a store that takes no writes is away, as nothing can be claimed.
  void writes_checked(const result<void>& reply);
  /// A call was answered. `wrote`: by a write; a store without room answers what needs none.
  void answered(bool wrote = true) {
    if (failing_.load(std::memory_order_relaxed)) recovered(wrote);
  }
  /// What the polls said last, without `refuses_for`. The event store-back comes later than the
  /// poll that is answered again, once no call has failed for a while.
  [[nodiscard]] store_health health() const;

 private:
  using time_point = base::boot_clock::time_point;

  void failed(const error& why, bool certain);
  [[nodiscard]] std::int64_t begin_wall() const;
  void refuses_writes(const error& why);
  void recovered(bool wrote);

  const std::string store_name_;
  std::atomic<bool> failing_{false};
  mutable std::mutex mutex_;  // for all below, and for changes
  bool away_ = false;
  time_point first_failure_{};
  time_point last_failure_{};
  std::optional<time_point> first_answer_;  // after the last failure
  std::uint64_t failures_ = 0;
  store_health health_;              // of the polls
  std::optional<error> unwritten_;   // why it takes no writes
  std::int64_t unwritten_wall_ = 0;  // since when
};

}  // namespace onceguard
