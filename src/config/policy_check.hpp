// Checks the options of one policy together.
#pragma once
#include "config/options.hpp"
#include "config/remark.hpp"

namespace onceguard::config {

/// Completes a policy and reports inconsistent options (faults), options that weaken the policy's
/// promise (warnings) and useful facts (notes), each at the option's location.
void finish_policy(policy_draft& draft, remarks& out);

}  // namespace onceguard::config
