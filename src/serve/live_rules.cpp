#include "serve/live_rules.hpp"

#include <algorithm>

namespace onceguard::serve {
namespace {

std::size_t longest_body(const route_policy& policy) {
  return std::max(policy.max_request_body, policy.max_answer_body);
}

/// What only a front door with an HTTP client of its own can do; empty: nothing.
std::string fault_of(const route_policy& policy) {
  if (policy.unknown == unknown_policy::probe) {
    return "unknown = \"probe\" is the gateway's and `onceguard reconcile`'s alone";
  }
  if (!policy.replay_check.empty()) return "replay_check is the gateway's alone";
  return fault_of_durations(policy);
}

error wrong_rules(std::string why) { return {errc::invalid_argument, std::move(why)}; }

}  // namespace

result<rules_ptr> live_rules::make(guard& records, serve_rules given,
                                   const std::string& problem_base) {
  http::middleware_params params;
  params.routes = given.routes;
  params.service = given.service;
  params.services = given.services;
  params.problem_base = problem_base;
  params.trusted_proxies = given.trusted_proxies;
  std::size_t longest = longest_body(given.defaults);
  for (const auto& each : given.routes) {
    longest = std::max(longest, longest_body(each.policy));
    if (const auto fault = fault_of(each.policy); !fault.empty()) {
      return wrong_rules("route " + each.host + each.path + ": " + fault);
    }
  }
  auto made = http::middleware::make(records, std::move(params));
  if (!made) return std::move(made).error();
  auto defaults = std::make_shared<const route_policy>(given.defaults);
  return rules_ptr(std::make_shared<live_rules>(
      live_rules{std::move(given), std::move(defaults), longest, std::move(*made)}));
}

const http::ready_route* live_rules::route(std::string_view name, std::string_view method) const {
  for (const auto& each : routes.state().table.entries()) {
    const auto& methods = each.rule.method;
    const bool fits = methods.empty() || std::ranges::find(methods, method) != methods.end();
    if (fits && each.name == name) return &each;
  }
  return nullptr;
}

result<policy_ptr> live_rules::policy(rules_kind kind, std::string_view rules) const {
  result<policy_ptr> out = defaults;
  if (kind == rules_kind::policy) {
    if (!given.policies.by_name)
      return wrong_rules("policy: there is no policy " + std::string(rules));
    out = given.policies.by_name(rules);
  } else if (kind == rules_kind::object) {
    if (!given.policies.from_object)
      return wrong_rules("policy: no options are allowed here: name a policy");
    out = given.policies.from_object(rules);
  }
  if (!out) return out;
  if (const auto fault = fault_of(**out); !fault.empty()) return wrong_rules("policy: " + fault);
  return out;
}

}  // namespace onceguard::serve
