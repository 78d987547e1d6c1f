#include "gateway/routing.hpp"

namespace onceguard::gateway {
namespace {

std::vector<route> ready(std::vector<route_params> rules,
                         const std::vector<upstream_params>& upstreams) {
  std::vector<route> out;
  out.reserve(rules.size());
  for (auto& rule : rules) {
    route r;
    r.name = rule.host + rule.path;
    r.index = out.size();
    r.upstream = &upstreams.at(rule.upstream);
    r.rule = std::move(rule);
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace

routing_table::routing_table(routing_params params)
    : upstreams_(std::move(params.upstreams)),
      routes_(ready(std::move(params.routes), upstreams_)) {}

}  // namespace onceguard::gateway
