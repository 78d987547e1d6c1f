// Checks the options of one policy together.
#pragma once
#include <string>
#include <string_view>

#include "config/policy/policy_options.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

// The faults of texts that only policies have; empty: valid.

[[nodiscard]] std::string guarded_method_complaint(std::string_view value);
[[nodiscard]] std::string pointer_complaint(std::string_view value);
[[nodiscard]] std::string replay_check_complaint(std::string_view value);
[[nodiscard]] std::string probe_complaint(std::string_view value);

/// Completes a policy and reports inconsistent options (faults), options that weaken the policy's
/// promise (warnings) and useful facts (notes), each at the option's location.
void finish_policy(front_door door, policy_draft& draft, remarks& out);
/// The same for the policy of operations without a request.
void finish_operation_policy(policy_draft& draft, remarks& out);

}  // namespace onceguard::config
