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

}  // namespace onceguard::gateway
