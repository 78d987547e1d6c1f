#include "http/route_table.hpp"

#include "base/ascii.hpp"
#include "http/request_target.hpp"

namespace onceguard::http {
namespace {

std::string_view without_final_dots(std::string_view host) noexcept {
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace

std::string_view without_port(std::string_view host) noexcept {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool fits(const route& rule, std::string_view host, std::string_view path,
          std::string_view method) {
  if (!rule.host.empty() && !base::iequals(rule.host, host)) return false;
  if (!path_matches(rule.path, path)) return false;
  return rule.method.empty() ||
         std::find(rule.method.begin(), rule.method.end(), method) != rule.method.end();
}

bool more_specific(const route& a, const route& b) noexcept {
  if (a.path.size() != b.path.size()) return a.path.size() > b.path.size();
  if (a.host.empty() != b.host.empty()) return !a.host.empty();
  return !a.method.empty() && b.method.empty();
}

bool requires_key(const route& rule, std::string_view method) {
  if (!rule.policy.required || rule.policy.observe) return false;
  const auto& methods = rule.policy.methods;
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

bool has_other_readings(std::string_view host, std::string_view path) noexcept {
  return has_other_readings(path) || without_final_dots(host).size() != host.size();
}

std::optional<std::vector<reading>> other_readings(std::string_view host, std::string_view path) {
  auto paths = other_readings(path);
  if (!paths) return std::nullopt;
  paths->push_back(normalise_path(path));
  const auto other_host = without_final_dots(host);
  std::vector<reading> out;
  for (auto& read : *paths) {
    if (other_host.size() != host.size()) out.emplace_back(other_host, read);
    out.emplace_back(host, std::move(read));
  }
  return out;
}

}  // namespace onceguard::http
