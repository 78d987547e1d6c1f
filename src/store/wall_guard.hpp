// Watches the wall clock against the boot clock, by which retention is counted: the wall clock says
// when that began, and no step of it ends a retention early. A step of more than five minutes
// pauses expiry, until the wall clock has kept its new distance for an hour.
#pragma once
#include <cstdint>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What the guard knows; a durable store keeps it, so that a restart does not confirm a step.
struct wall_memory {
  std::int64_t offset = 0;   ///< of the clock of retention against the boot clock, for this boot
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

  /// The first look at the clocks after a boot (or ever: `last` is 0). Retention goes on from where
  /// it was `last` seen: how long the machine was off, only a clock could tell that may be wrong. A
  /// wall clock behind that is doubted.
  [[nodiscard]] static wall_guard after_boot(std::int64_t last, std::int64_t boot,
                                             std::int64_t wall) noexcept;

  /// May what has outlived its retention be taken for expired?
  [[nodiscard]] bool trusts(std::int64_t boot, std::int64_t wall) noexcept;
  /// The time by which retention is counted. It never steps.
  [[nodiscard]] std::int64_t retention_time(std::int64_t boot) const noexcept {
    return boot + memory_.offset;
  }
  [[nodiscard]] const wall_memory& memory() const noexcept { return memory_; }

 private:
  wall_memory memory_;
};

/// The store's clocks now, judged by the guard: `wall` is the time of retention.
[[nodiscard]] instant read_clocks(const base::clock& clock, wall_guard& guard) noexcept;

/// How far the wall clock was put ahead of the time of retention, for what people are shown. In
/// whole seconds: the two clocks are never read at one moment, and a record that nobody changed
/// shows the same times whenever it is looked at.
[[nodiscard]] std::int64_t wall_ahead(const base::clock& clock, const instant& now) noexcept;

}  // namespace onceguard
