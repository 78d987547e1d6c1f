// The largest durations mean "for ever".
#pragma once
#include <algorithm>
#include <chrono>

namespace onceguard::base {

/// A hundred years: a sum of some of these and any clock does not wrap, in nanoseconds either.
inline constexpr std::chrono::milliseconds for_ever{std::chrono::hours(24 * 36'500)};

/// Callers write "for ever" as milliseconds::max(), with which nothing can be added.
[[nodiscard]] constexpr std::chrono::milliseconds bounded(
    std::chrono::milliseconds duration) noexcept {
  return std::clamp(duration, -for_ever, for_ever);
}

}  // namespace onceguard::base
