// Ending the process by the admin API, as SIGTERM does.
#pragma once
#include <functional>
#include <string>

#include "admin/audit_api.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

/// POST /api/drain, with its reason in the audit log. `begin` gets who asked for it, and does not
/// wait for the end.
[[nodiscard]] resources drain_resources(audit_source audit,
                                        std::function<void(const std::string& author)> begin);

}  // namespace onceguard::admin
