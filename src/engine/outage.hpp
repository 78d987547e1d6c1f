// Notices that a store does not answer, and that it answers again: one event each, however many
// calls fail.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// Thread-safe. Costs a relaxed load for each answer while the store is there.
class outage {
 public:
  explicit outage(std::string store_name) : store_name_(std::move(store_name)) {}

  /// A call failed. Only a store out of reach counts.
  void failed(const error& why);
  /// A call was answered.
  void answered() {
    if (away_.load(std::memory_order_relaxed)) recovered();
  }
  [[nodiscard]] bool away() const noexcept { return away_; }

 private:
  void recovered();

  const std::string store_name_;
  std::atomic<bool> away_{false};
  std::mutex mutex_;  // for all below
  base::boot_clock::time_point since_{};
  base::boot_clock::time_point last_failure_{};
  std::optional<base::boot_clock::time_point> first_answer_;  // after the last failure
  std::uint64_t failures_ = 0;
};

}  // namespace onceguard
