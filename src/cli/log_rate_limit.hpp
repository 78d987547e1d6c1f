// Keeps one event from filling the disk: in an outage each request would have a line of its own.
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
    std::uint64_t left_out = 0;  ///< of the same event, in seconds that are over, not yet told
  };

  /// May this line of `event` be written? Not thread-safe.
  [[nodiscard]] decision inspection(std::string_view event, time_point now);

 private:
  struct stretch {
    time_point begin{};
    std::uint64_t lines = 0;
  };
  std::map<std::string, stretch, std::less<>> events_;  // as many as the program has names for
};

}  // namespace onceguard::cli
