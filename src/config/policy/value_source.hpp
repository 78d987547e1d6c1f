// Where the values of a route's policy come from.
#pragma once
#include <map>
#include <string>

namespace onceguard::config {

struct policy_draft;

struct value_source {
  std::string table;     ///< "[[route]]", "[defaults]", or "profile" and its name; empty: none
  std::string position;  ///< "onceguard.toml:3:9", "--lease"; empty: it has none
};

/// By option, for those whose value is shown.
[[nodiscard]] std::map<std::string, value_source> sources_of(const policy_draft& draft);

}  // namespace onceguard::config
