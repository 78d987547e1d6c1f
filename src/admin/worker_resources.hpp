// What a process without a gateway serves: health, readiness and metrics.
#pragma once
#include <functional>
#include <string>

#include "admin/resource.hpp"

namespace onceguard::admin {

/// GET /healthz and /readyz without a token, and /metrics. Both are called on the listener's
/// thread: `reasons` returns why the process is not ready, as a JSON array; empty: it is.
[[nodiscard]] resources worker_resources(std::function<nlohmann::ordered_json()> reasons,
                                         std::function<std::string()> metrics);

}  // namespace onceguard::admin
