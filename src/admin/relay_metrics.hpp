// Health and metrics of `onceguard relay`: what each relay did with its outbox.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "admin/resource.hpp"

namespace onceguard::admin {

struct relay_numbers {
  std::string relay;
  std::uint64_t published = 0;
  std::uint64_t failed = 0;
  std::uint64_t dead = 0;
  std::uint64_t given_back = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dead_rows = 0;
  double oldest_age = 0;  ///< seconds
  bool outbox_up = false;
  bool destination_up = false;
};

/// Called on the listener's thread.
using relay_source = std::function<std::vector<relay_numbers>()>;

/// As worker_resources. Ready is who has all of its outboxes and destinations.
[[nodiscard]] resources relay_resources(relay_source read);

}  // namespace onceguard::admin
