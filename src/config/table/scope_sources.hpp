// The sources of a scope, of which there may be several.
#pragma once
#include <onceguard/policy.hpp>

namespace onceguard::config {

/// Calls `visit(rule)` for a rule that is none of several, and for each of several.
template <class Visit>
void each_source(const scope_rule& rule, const Visit& visit) {
  if (rule.source != scope_source::several) return visit(rule);
  for (const auto& part : rule.parts) visit(part);
}

[[nodiscard]] inline bool takes(const scope_rule& rule, scope_source source) {
  bool found = false;
  each_source(rule, [&](const scope_rule& one) { found = found || one.source == source; });
  return found;
}

}  // namespace onceguard::config
