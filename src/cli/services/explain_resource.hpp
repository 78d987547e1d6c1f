// The routes with their effective policy, and what would become of a request: for the admin API.
#pragma once
#include <functional>

#include <onceguard/store.hpp>

#include "admin/resource.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::services {

/// GET /api/routes and POST /api/explain. `settings`: those in force. The store must outlive the
/// listener.
[[nodiscard]] admin::resources explain_resources(std::function<config::settings()> settings,
                                                 store& records);

}  // namespace onceguard::cli::services
