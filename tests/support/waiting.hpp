// Waiting for a condition that must come true.
#pragma once
#include <chrono>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"

namespace onceguard::testing {

/// Polls; what the condition throws counts as not yet. Throws when it takes too long.
inline void wait_until(const std::string& description, const std::function<bool()>& condition,
                       std::chrono::seconds at_most = std::chrono::seconds(60)) {
  const auto until = base::boot_now() + at_most;
  std::string why;
  while (base::boot_now() < until) {
    try {
      if (condition()) return;
    } catch (const std::exception& failed) {
      why = failed.what();
    }
    ::poll(nullptr, 0, 5);
  }
  throw std::runtime_error("waited in vain for " + description + ": " + why);
}

}  // namespace onceguard::testing
