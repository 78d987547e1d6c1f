// GET /api/overview: the state of the process and of its last hour, for the page and for `top`.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "admin/metrics.hpp"
#include "admin/resource.hpp"
#include "admin/traffic_history.hpp"

namespace onceguard::admin {

/// What the last count of the records found; an empty object: there was none.
[[nodiscard]] nlohmann::ordered_json counted_json(const record_counter& counter);

/// `longer`: GET /api/history has more.
[[nodiscard]] resources overview_resources(const metric_sources& sources,
                                           const traffic_history& history, bool longer);

}  // namespace onceguard::admin
