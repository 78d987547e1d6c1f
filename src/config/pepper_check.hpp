// Checks what a configuration says beside a pepper of keys.
#pragma once
#include "config/policy/policy_options.hpp"
#include "config/settings.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

/// Of a policy: whether its keys are also kept elsewhere.
void check_pepper(const settings& made, const policy_draft& draft, remarks& out);

/// Of [reconcile]: where its query and its interval stand.
void check_pepper(const settings& made, const origin& query, const origin& interval, remarks& out);

}  // namespace onceguard::config
