// How long a process whose successor serves stays beyond its drain, for what only it can tell the
// store.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/clock.hpp"

namespace onceguard::gateway {

/// Used by one thread.
class overtime {
 public:
  using time_point = base::boot_clock::time_point;

  /// What is looked at, again and again.
  struct work_left {
    std::size_t connections = 0;
    std::size_t unrecorded = 0;  ///< settles and claims that the store has yet to take
    bool store_up = true;
  };

  /// `drain_end`: when the drain is over. `last`: from then on the records are gone, whatever the
  /// store hears of them.
  overtime(time_point drain_end, time_point last) noexcept : settled_by_(drain_end), last_(last) {}

  /// Whether there is a reason to stay at this moment after the drain.
  [[nodiscard]] bool needed(const work_left& left, time_point now) noexcept {
    if (!left.store_up) settled_by_ = std::max(settled_by_, now);
    if (now >= last_) return false;
    // The store takes what is repeated within seconds. What it has not taken by then, it refuses.
    if (left.unrecorded != 0) return now < settled_by_ + patience;
    // A request that waits for the store, now or at its end.
    return left.connections != 0 && !left.store_up;
  }

  static constexpr std::chrono::seconds patience{10};

 private:
  time_point settled_by_;
  const time_point last_;
};

}  // namespace onceguard::gateway
