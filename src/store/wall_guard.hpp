// Watches the wall clock against the boot clock, which counts retention. The wall clock only says
// when retention began, and no step of the wall clock ends a retention early. A step of more than
// five minutes pauses expiry until the wall clock has kept its new distance for an hour.
#pragma once
#include <cstdint>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What the guard knows. A durable store keeps it, so that a restart does not confirm a step.
struct wall_memory {
  std::int64_t offset = 0;   ///< of the retention clock against the boot clock, for this boot
  bool unconfirmed = false;  ///< the wall clock was seen at another distance …
  std::int64_t unconfirmed_offset = 0;
  std::int64_t unconfirmed_since_boot = 0;  ///< … since this time of the boot clock
  friend bool operator==(const wall_memory&, const wall_memory&) = default;
};

/// Not thread-safe.
class wall_guard {
 public:
  static constexpr std::int64_t tolerance_ms = 5 * 60'000;
  static constexpr std::int64_t confirmed_after_ms = 60 * 60'000;

  wall_guard() = default;
  explicit wall_guard(const wall_memory& known) : memory_(known) {}

  /// For the first reading of the clocks after a boot, or ever (`last` is 0). Retention continues
  /// from `last`, where it was seen before: only a clock that may be wrong knows how long the
  /// machine was off. A wall clock behind `last` is not trusted.
  [[nodiscard]] static wall_guard after_boot(std::int64_t last, std::int64_t boot,
                                             std::int64_t wall) noexcept;

  /// May records whose retention is over be taken for expired?
  [[nodiscard]] bool trusts(std::int64_t boot, std::int64_t wall) noexcept;
  /// The time of the retention clock. It never steps.
  [[nodiscard]] std::int64_t retention_time(std::int64_t boot) const noexcept {
    return boot + memory_.offset;
  }
  [[nodiscard]] const wall_memory& memory() const noexcept { return memory_; }

 private:
  wall_memory memory_;
};

/// The store's clocks now, with the guard's decision on expiry: `wall` is the time of the retention
/// clock.
[[nodiscard]] instant read_clocks(const base::clock& clock, wall_guard& guard) noexcept;

/// How far the wall clock is ahead of the retention clock, for times that people see. In whole
/// seconds: the two clocks are never read at the same moment, and an unchanged record must show the
/// same times in every view.
[[nodiscard]] std::int64_t wall_ahead(const base::clock& clock, const instant& now) noexcept;

}  // namespace onceguard
