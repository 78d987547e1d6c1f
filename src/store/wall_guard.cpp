#include "store/wall_guard.hpp"

namespace onceguard {
namespace {

bool walls_are_near(std::int64_t a, std::int64_t b) noexcept {
  return a - b <= wall_guard::tolerance_ms && b - a <= wall_guard::tolerance_ms;
}

}  // namespace

wall_guard wall_guard::after_boot(std::int64_t last, std::int64_t boot,
                                  std::int64_t wall) noexcept {
  wall_memory known;
  known.offset = (last == 0 ? wall : last) - boot;
  if (last != 0 && wall > last) {
    known.unconfirmed = true;  // ahead, as after any pause: that is no step
    known.unconfirmed_offset = wall - boot;
    known.unconfirmed_since_boot = boot - confirmed_after_ms;
  }
  return wall_guard(known);
}

bool wall_guard::trusts(std::int64_t boot, std::int64_t wall) noexcept {
  const auto offset = wall - boot;
  if (walls_are_near(offset, memory_.offset)) {
    memory_.unconfirmed = false;
    return true;
  }
  if (!memory_.unconfirmed || !walls_are_near(offset, memory_.unconfirmed_offset)) {
    memory_.unconfirmed = true;
    memory_.unconfirmed_offset = offset;
    memory_.unconfirmed_since_boot = boot;
    return false;
  }
  return boot - memory_.unconfirmed_since_boot >= confirmed_after_ms;
}

instant read_clocks(const base::clock& clock, wall_guard& guard) noexcept {
  instant now;
  now.lease = clock.boot_ms();
  now.wall = guard.retention_time(now.lease);
  now.expiry_paused = !guard.trusts(now.lease, clock.wall_ms());
  return now;
}

std::int64_t wall_ahead(const base::clock& clock, const instant& now) noexcept {
  constexpr std::int64_t second = 1'000;
  const auto ahead = clock.wall_ms() - now.wall;
  const auto half = ahead < 0 ? -second / 2 : second / 2;
  return (ahead + half) / second * second;
}

}  // namespace onceguard
