#include "gateway/routing.hpp"

#include <algorithm>

#include "base/field.hpp"
#include "http/target.hpp"

namespace onceguard::gateway {
namespace {

std::string_view without_port(std::string_view host) noexcept {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool fits(const route_params& rule, std::string_view host, std::string_view path,
          std::string_view method) {
  if (!rule.host.empty() && !base::iequals(rule.host, host)) return false;
  if (!http::path_matches(rule.path, path)) return false;
  return rule.method.empty() ||
         std::find(rule.method.begin(), rule.method.end(), method) != rule.method.end();
}

bool requires_key(const route* found, std::string_view method) {
  if (found == nullptr || !found->rule.policy.required || found->rule.policy.observe) return false;
  const auto& methods = found->rule.policy.methods;
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

bool more_specific(const route& a, const route& b) {
  if (a.rule.path.size() != b.rule.path.size()) return a.rule.path.size() > b.rule.path.size();
  if (a.rule.host.empty() != b.rule.host.empty()) return !a.rule.host.empty();
  return !a.rule.method.empty() && b.rule.method.empty();
}

}  // namespace

routing_table::routing_table(routing_params params) : upstreams_(std::move(params.upstreams)) {
  routes_.reserve(params.routes.size());
  for (auto& rule : params.routes) {
    route r;
    r.name = rule.host + rule.path;
    r.index = routes_.size();
    r.upstream = &upstreams_.at(rule.upstream);
    r.rule = std::move(rule);
    routes_.push_back(std::move(r));
  }
  std::stable_sort(routes_.begin(), routes_.end(), more_specific);
}

const route* routing_table::match(std::string_view host, std::string_view path,
                                  std::string_view method) const {
  host = without_port(host);
  for (const auto& r : routes_) {
    if (fits(r.rule, host, path, method)) return &r;
  }
  return nullptr;
}

bool routing_table::leads_around_a_key(const route& found, std::string_view host,
                                       std::string_view path, std::string_view method) const {
  host = without_port(host);
  auto other_host = host;
  while (other_host.ends_with('.')) other_host.remove_suffix(1);
  if (!http::has_other_readings(path) && other_host.size() == host.size()) return false;
  const auto matters = [&](const route& r) { return requires_key(&r, method); };
  if (std::none_of(routes_.begin(), routes_.end(), matters)) return false;
  auto paths = http::other_readings(path);
  const bool required = requires_key(&found, method);
  const auto other = [&](const route* fitting) {
    return fitting != &found && (required || requires_key(fitting, method));
  };
  if (!paths) return true;
  paths->push_back(http::normalise_path(path));
  return std::any_of(paths->begin(), paths->end(), [&](const std::string& read) {
    return other(match(host, read, method)) || other(match(other_host, read, method));
  });
}

}  // namespace onceguard::gateway
