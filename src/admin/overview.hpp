// GET /api/overview: the state of the process and of its last hour, for the page and for `top`.
#pragma once
#include "admin/metrics.hpp"
#include "admin/resource.hpp"
#include "admin/traffic_history.hpp"

namespace onceguard::admin {

[[nodiscard]] resources overview_resources(const metric_sources& sources,
                                           const traffic_history& history);

}  // namespace onceguard::admin
