// What the options of one policy mean together.
#pragma once
#include "config/options.hpp"
#include "config/remark.hpp"

namespace onceguard::config {

/// Puts the parts of a policy together and says what does not fit (faults), what weakens its
/// promise (warnings) and what is worth knowing (notes), each where the option stands.
void finish_policy(policy_draft& draft, remarks& out);

}  // namespace onceguard::config
