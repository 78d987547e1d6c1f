// How long a process may serve what it remembers without having heard its store: an operator who
// releases a completed record waits for so long until nobody serves it any more.
#pragma once
#include <onceguard/record.hpp>

namespace onceguard {

inline constexpr milliseconds poll_interval{1'000};  ///< every process looks that often
/// Without word from the store for that long, nothing is served from memory.
inline constexpr milliseconds stale_after{5'000};
/// Counted from before the last look that was answered. What is served is checked against it at
/// the moment when it is served; the rest is for clocks that run apart.
inline constexpr milliseconds fresh_for = stale_after - 2 * poll_interval;

}  // namespace onceguard
