// Limits the log lines of each event: in an outage each request would write a line and fill the
// disk.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace onceguard::cli {

class log_rate_limit {
 public:
  using time_point = base::boot_clock::time_point;
  static constexpr std::uint64_t most_a_second = 20;

  struct decision {
    bool pass = true;
    std::uint64_t left_out = 0;  ///< lines of this event that earlier seconds left out and no
                                 ///< decision has reported yet
  };

  /// Whether a line of `event` may be written now. Not thread-safe.
  [[nodiscard]] decision decide(std::string_view event, time_point now);

 private:
  struct stretch {
    time_point begin{};
    std::uint64_t lines = 0;
  };
  std::map<std::string, stretch, std::less<>> events_;  // bounded by the number of event names
};

}  // namespace onceguard::cli
