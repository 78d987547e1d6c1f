// What happened just now, for `onceguard tail` and the page.
#pragma once
#include "admin/recent_activity.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

/// GET /api/recent. `recent` must outlive the listener.
[[nodiscard]] resources recent_resources(const recent_activity& recent);

}  // namespace onceguard::admin
