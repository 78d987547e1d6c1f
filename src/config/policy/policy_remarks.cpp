#include "config/policy/policy_remarks.hpp"

namespace onceguard::config {

origin policy_remarks::where(std::string_view name) const {
  const auto found = draft_.origins.find(name);
  return found == draft_.origins.end() ? origin{} : found->second;
}

void policy_remarks::say(remark::grade weight, names about, const std::string& description) {
  origin origin = where(*about.begin());
  for (const auto name : about) {
    const auto other = where(name);
    if (other.where > origin.where) origin = other;
  }
  const std::string title(origin.of_route() ? draft_.title : "[defaults] ");
  out_.push_back({weight, origin, title + std::string(*about.begin()) + ": " + description});
}

}  // namespace onceguard::config
