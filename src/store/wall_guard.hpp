// Watches the wall clock against the boot clock. A step of more than five minutes pauses expiry,
// until the wall clock has kept its new distance for an hour or someone confirms it.
#pragma once
#include <cstdint>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What the guard knows; a durable store keeps it, so that a restart does not confirm a step.
struct wall_memory {
  std::int64_t offset = 0;  ///< wall − boot, as trusted
  bool doubted = false;     ///< another distance was seen …
  std::int64_t doubted_offset = 0;
  std::int64_t doubted_since_boot = 0;  ///< … since this time of the boot clock
  friend bool operator==(const wall_memory&, const wall_memory&) = default;
};

/// Not thread-safe.
class wall_guard {
 public:
  static constexpr std::int64_t tolerance_ms = 5 * 60'000;
  static constexpr std::int64_t confirmed_after_ms = 60 * 60'000;

  wall_guard() = default;
  explicit wall_guard(const wall_memory& known) : memory_(known) {}

  /// The first look at the clocks after a boot (or ever: `last_wall` is 0). A wall clock that is
  /// behind what was seen before the boot is doubted; one that is ahead cannot be told from a
  /// machine that was switched off.
  [[nodiscard]] static wall_guard after_boot(std::int64_t last_wall, std::int64_t boot,
                                             std::int64_t wall) noexcept;

  /// May what has outlived its retention be taken for expired?
  [[nodiscard]] bool trusts(std::int64_t boot, std::int64_t wall) noexcept;
  /// An operator says that the wall clock is right.
  void confirm(std::int64_t boot, std::int64_t wall) noexcept { memory_ = {.offset = wall - boot}; }
  [[nodiscard]] const wall_memory& memory() const noexcept { return memory_; }

 private:
  wall_memory memory_;
};

/// The store's clocks now, judged by the guard.
[[nodiscard]] instant read_clocks(const base::clock& clock, wall_guard& guard) noexcept;

}  // namespace onceguard
