// Health and metrics of `onceguard consume`: what each subscriber did with its messages.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/engine.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

struct subscriber_numbers {
  std::string subscriber;
  std::uint64_t received = 0;                                        ///< deliveries
  std::vector<std::pair<std::string_view, std::uint64_t>> outcomes;  ///< by name
  std::uint64_t dead_lettered = 0;
  std::uint64_t not_settled = 0;
  std::uint64_t last_deliveries = 0;
  std::uint64_t dropped = 0;  ///< by the broker itself
  std::uint64_t backlog = 0;  ///< messages that wait at the broker
  bool connected = false;
  bool circuit_open = false;  ///< what the work needs is away
};

/// Called on the listener's thread.
using subscriber_source = std::function<std::vector<subscriber_numbers>()>;

/// GET /healthz and /readyz without a token, and /metrics. Ready is who has its store and all of
/// its queues.
[[nodiscard]] resources subscriber_resources(const engine& engine, subscriber_source read);

}  // namespace onceguard::admin
