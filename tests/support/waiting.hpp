// Waiting for a condition that must come true.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"

namespace onceguard::testing {

/// Polls; what the condition throws counts as not yet. Throws when it takes too long. What takes
/// long to come true is asked less often: each question may cost a server something.
inline void wait_until(const std::string& description, const std::function<bool()>& condition,
                       std::chrono::seconds at_most = std::chrono::seconds(60)) {
  const auto begin = base::boot_now();
  std::string why;
  while (base::boot_now() < begin + at_most) {
    try {
      if (condition()) return;
    } catch (const std::exception& failed) {
      why = failed.what();
    }
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(base::boot_now() - begin);
    ::poll(nullptr, 0, static_cast<int>(std::clamp<std::int64_t>(waited.count() / 50, 5, 50)));
  }
  throw std::runtime_error("waited in vain for " + description + ": " + why);
}

}  // namespace onceguard::testing
