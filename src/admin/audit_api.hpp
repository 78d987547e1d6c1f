// What the audit log says, for the admin API.
#pragma once
#include <functional>

#include "admin/resource.hpp"
#include "audit/audit_log.hpp"

namespace onceguard::admin {

/// Where it is; null: the gateway still starts.
using audit_source = std::function<audit_log*()>;

/// GET /api/audit.
[[nodiscard]] resources audit_resources(audit_source audit);

}  // namespace onceguard::admin
