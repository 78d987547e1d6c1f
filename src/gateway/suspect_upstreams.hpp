// Upstreams that end kept-alive connections without announcing it. For a guarded request, such an
// end leaves an unknown outcome, so guarded requests to these upstreams get new connections for a
// while.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::gateway {

/// Thread-safe: an observation of one I/O thread applies to all.
class suspect_upstreams {
 public:
  using time_point = base::boot_clock::time_point;

  explicit suspect_upstreams(milliseconds length = std::chrono::minutes(1)) : length_(length) {}

  /// The upstream ended a connection that was idle for less than a second. Logged once for each
  /// address.
  void suspect(const endpoint& which);
  [[nodiscard]] bool suspected(const endpoint& which, time_point now) const;

 private:
  const milliseconds length_;
  // The latest end of all entries: usually there are none.
  std::atomic<time_point> last_end_{time_point{}};
  mutable std::mutex mutex_;
  std::map<endpoint, time_point> until_;
};

}  // namespace onceguard::gateway
