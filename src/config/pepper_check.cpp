#include "config/pepper_check.hpp"

#include <algorithm>
#include <string>

namespace onceguard::config {

void check_pepper(const settings& made, const policy_draft& draft, remarks& out) {
  if (made.store.key_pepper_file.empty()) return;
  const auto& sources = draft.policy.key;
  const bool in_path = std::any_of(sources.begin(), sources.end(), [](const auto& source) {
    return source.location == key_location::path;
  });
  if (!in_path) return;
  const auto& position = draft.origins.at("key");
  out.push_back({remark::grade::fault, position,
                 std::string(position.of_route() ? draft.title : "[defaults] ") +
                     "key: not from the path with [store] key_pepper_file, as paths are kept in "
                     "the clear"});
}

void check_pepper(const settings& made, const origin& query, remarks& out) {
  if (made.store.key_pepper_file.empty() || made.query.text.empty()) return;
  out.push_back({remark::grade::fault, query,
                 "[reconcile] query: not with [store] key_pepper_file, as the store does not know "
                 "the keys that the application's tables have"});
}

}  // namespace onceguard::config
