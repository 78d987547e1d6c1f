// Checks what a configuration says beside a pepper of keys.
#pragma once
#include "config/policy/policy_options.hpp"
#include "config/settings.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

/// Of a policy: whether its keys are also kept elsewhere.
void check_pepper(const settings& made, const policy_draft& draft, remarks& out);

/// Of the query of [reconcile], which stands at `query`.
void check_pepper(const settings& made, const origin& query, remarks& out);

}  // namespace onceguard::config
