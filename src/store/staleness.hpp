// The limits of staleness: how long a process may serve from memory without an answer of its store.
// An operator who releases a completed record must wait that long until no process serves it any
// more.
#pragma once
#include <onceguard/record.hpp>

namespace onceguard {

inline constexpr milliseconds poll_interval{1'000};  ///< how often every process polls
/// After that long without an answer of the store, nothing is served from memory.
inline constexpr milliseconds stale_after{5'000};
/// Counts from before the last poll that was answered, and is checked at the moment of serving. The
/// rest of `stale_after` allows for clocks that run apart.
inline constexpr milliseconds fresh_for = stale_after - 2 * poll_interval;

}  // namespace onceguard
