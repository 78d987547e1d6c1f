#include "config/policy/value_source.hpp"

#include "config/policy/policy_options.hpp"

namespace onceguard::config {

std::map<std::string, value_source> sources_of(const policy_draft& draft) {
  std::map<std::string, value_source> out;
  for (const auto& [option, text] : draft.texts) {
    auto& source = out[option];
    if (draft.of_profile.contains(option)) source.table = "profile " + draft.profile;
    const auto found = draft.origins.find(option);
    if (found == draft.origins.end() || found->second.where == layer::fallback) continue;
    source.position = found->second.text();
    if (found->second.where == layer::route) source.table = "[[route]]";
    if (found->second.where == layer::file) source.table = "[defaults]";
  }
  return out;
}

}  // namespace onceguard::config
