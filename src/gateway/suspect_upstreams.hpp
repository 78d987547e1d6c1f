// Upstreams that end kept connections without having said so. Under a guarded request that leaves
// an unknown outcome, so for a while these get connections of their own there.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "base/clock.hpp"
#include "gateway/params.hpp"

namespace onceguard::gateway {

/// Thread-safe: what one I/O thread saw holds for all.
class suspect_upstreams {
 public:
  using time_point = base::boot_clock::time_point;

  explicit suspect_upstreams(milliseconds length = std::chrono::minutes(1)) : length_(length) {}

  /// It ended one that was idle for less than a second. Logged once for each address.
  void suspect(const endpoint& which);
  [[nodiscard]] bool suspected(const endpoint& which, time_point now) const;

 private:
  const milliseconds length_;
  std::atomic<time_point> last_end_{time_point{}};  // of all doubts: mostly there are none
  mutable std::mutex mutex_;
  std::map<endpoint, time_point> until_;
};

}  // namespace onceguard::gateway
