// Settings that are well formed, and do not do what whoever wrote them wants: each is a pure rule
// about the policy of one route.
#pragma once
#include <string_view>

#include "config/policy/policy_options.hpp"
#include "config/policy/policy_remarks.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

/// What surely doubles is a fault, the rest are warnings and notes. `path`: the route's.
void add_pitfalls(const policy_draft& draft, std::string_view path, remarks& out);

// Rules that weaken what a policy promises.

/// Answers after which a repeat runs again, although the work may have taken effect.
void add_outcome_pitfalls(const route_policy& policy, policy_remarks& out);
/// With those of add_operation_pitfalls().
void add_promise_pitfalls(const route_policy& policy, policy_remarks& out);
/// Those that an operation without a request has as well.
void add_operation_pitfalls(const route_policy& policy, policy_remarks& out);

}  // namespace onceguard::config
