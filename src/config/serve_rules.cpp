// The rules of the decision service, from the routes and policies of the configuration.
#include "config/load.hpp"

namespace onceguard::config {

serve::serve_rules serve_rules_of(const settings& settings) {
  serve::serve_rules out;
  out.defaults = *settings.operations->usual();
  out.policies.by_name = [all = settings.operations](std::string_view name) {
    return all->find(name);
  };
  out.policies.from_object = [all = settings.operations](std::string_view object) {
    return all->read(object);
  };
  for (const auto& [name, policy] : settings.operations->named()) {
    out.policies.named.push_back(policy);
  }
  out.trusted_proxies = settings.gateway.trusted_proxies;
  const auto& upstreams = settings.routing.upstreams;
  if (!upstreams.empty()) out.service = upstreams.front().identity;
  for (const auto& each : settings.routing.routes) {
    out.routes.push_back(each);
    if (each.upstream < upstreams.size()) {
      out.services[each.host + each.path] = upstreams[each.upstream].identity;
    }
  }
  return out;
}

}  // namespace onceguard::config
