// Limits the log lines of each event: in an outage each request would write a line and fill the
// disk.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace onceguard::cli::log {

class log_rate_limit {
 public:
  using time_point = base::boot_clock::time_point;
  static constexpr std::uint64_t most_a_second = 20;

  struct missing {
    std::string_view event;  ///< valid as long as this object
    std::uint64_t lines = 0;
  };

  // None of these is thread-safe.
  /// Whether a line of `event` may be written now.
  [[nodiscard]] bool passes(std::string_view event, time_point now);
  /// What was left out in seconds that are over. Each line is reported once.
  [[nodiscard]] std::vector<missing> take_missing(time_point now);
  /// When take_missing() has something to report; the latest time if nothing is missing.
  [[nodiscard]] time_point due() const noexcept { return due_; }

 private:
  struct stretch {
    time_point begin{};
    std::uint64_t lines = 0;
    std::uint64_t left_out = 0;
    time_point due = time_point::max();
  };
  std::map<std::string, stretch, std::less<>> events_;  // bounded by the number of event names
  time_point due_ = time_point::max();
};

}  // namespace onceguard::cli::log
