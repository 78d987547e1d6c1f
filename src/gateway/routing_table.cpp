#include "gateway/routing_table.hpp"

#include <algorithm>

#include "http/request_target.hpp"

namespace onceguard::gateway {
namespace {

/// The route of that name to the same service, best for the same methods; null: none.
const route* find_former(const routing_table& table, const route& wanted) {
  const route* out = nullptr;
  for (const auto& each : table.routes()) {
    const bool same =
        each.name == wanted.name && each.upstream->identity == wanted.upstream->identity;
    if (same && (out == nullptr || each.rule.method == wanted.rule.method)) out = &each;
  }
  return out;
}

std::vector<route> ready(std::vector<route_params> rules,
                         const std::vector<upstream_params>& upstreams,
                         const routing_table* former) {
  std::vector<route> out;
  out.reserve(rules.size());
  for (auto& rule : rules) {
    route r;
    r.name = rule.host + rule.path;
    r.index = out.size();
    r.upstream = &upstreams.at(rule.upstream);
    r.rule = std::move(rule);
    const auto* before = former == nullptr ? nullptr : find_former(*former, r);
    if (before != nullptr) r.naming = before->naming;
    out.push_back(std::move(r));
  }
  for (auto& one : out) {
    if (one.rule.webhook) continue;
    for (const auto& other : out) {
      // A rule of the same path or one below says itself what is not signed there.
      const bool has_rule = one.rule.path.size() >= other.rule.path.size();
      if (other.rule.webhook && other.upstream == one.upstream && !has_rule) {
        one.signed_beside.push_back(other.rule);
      }
    }
  }
  return out;
}

}  // namespace

bool routing_table::leads_around_a_signature(const route& found, std::string_view path,
                                             std::string_view method) {
  return std::any_of(found.signed_beside.begin(), found.signed_beside.end(),
                     [&](const route_params& other) {
                       const auto& methods = other.method;
                       return (methods.empty() || std::ranges::count(methods, method) != 0) &&
                              http::may_be_read_as(path, other.path);
                     });
}

milliseconds routing_table::longest_retention() const noexcept {
  auto out = milliseconds(0);
  for (const auto& each : routes()) out = std::max(out, each.rule.policy.retention);
  return out;
}

routing_table::routing_table(routing_params params, const routing_table* former)
    : upstreams_(std::move(params.upstreams)),
      routes_(ready(std::move(params.routes), upstreams_, former)) {}

}  // namespace onceguard::gateway
