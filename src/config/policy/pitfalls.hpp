// Settings that are well formed, and do not do what whoever wrote them wants: each is a pure rule
// about the policy of one route.
#pragma once
#include <string_view>

#include "config/policy/policy_options.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

/// What surely doubles is a fault, the rest are warnings and notes. `path`: the route's.
void add_pitfalls(const policy_draft& draft, std::string_view path, remarks& out);

}  // namespace onceguard::config
