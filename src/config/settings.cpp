// What is asked of settings that are read.
#include "config/load.hpp"

namespace onceguard::config {

milliseconds retention_of(const settings& settings, std::string_view route) {
  for (const auto& each : settings.routing.routes) {
    if (each.host + each.path == route) return each.policy.retention;
  }
  return settings.defaults.retention;
}

std::vector<std::string> fixed_changes(const settings& running, const settings& wanted) {
  std::vector<std::string> names;
  for (const auto& [name, value] : wanted.fixed) {
    const auto old = running.fixed.find(name);
    if (old == running.fixed.end() || old->second != value) names.push_back(name);
  }
  return names;
}

}  // namespace onceguard::config
