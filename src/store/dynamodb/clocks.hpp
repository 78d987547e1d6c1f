// The clocks of a process that shares its records with others, and no clock.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>

#include "base/clock.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::dynamodb {

/// Leases run on the boot clock of this process, retention on the wall clock, watched against it.
/// Thread-safe.
class clocks {
 public:
  explicit clocks(const base::clock& clock)
      : clock_(clock), guard_(wall_guard::after_boot(0, clock.boot_ms(), clock.wall_ms())) {}

  [[nodiscard]] instant now() {
    const std::lock_guard lock(mutex_);
    return read_clocks(clock_, guard_);
  }
  /// Of times that people see.
  [[nodiscard]] std::int64_t ahead(const instant& now) const { return wall_ahead(clock_, now); }
  /// The position of a first claim: in microseconds since 1970, and larger than the one before.
  [[nodiscard]] std::uint64_t next_first(const instant& now) {
    const std::lock_guard lock(mutex_);
    last_first_ = std::max(last_first_ + 1, microseconds(now));
    return last_first_;
  }
  /// Larger than any token that a record of that key ever had, if the wall clocks of all processes
  /// are apart by less than the time for which an expired record stays in the table.
  [[nodiscard]] static token next_token(const instant& now, const record* former) noexcept {
    return former == nullptr ? microseconds(now) : std::max(microseconds(now), former->token + 1);
  }

 private:
  [[nodiscard]] static std::uint64_t microseconds(const instant& now) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(now.wall, 1)) * 1'000;
  }

  const base::clock& clock_;
  std::mutex mutex_;
  wall_guard guard_;
  std::uint64_t last_first_ = 0;
};

}  // namespace onceguard::dynamodb
