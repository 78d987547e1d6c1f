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

void check_pepper(const settings& made, const origin& query, const origin& interval, remarks& out) {
  if (made.store.key_pepper_file.empty()) return;
  if (!made.query.text.empty()) {
    out.push_back({remark::grade::fault, query,
                   "[reconcile] query: not with [store] key_pepper_file, as the store does not "
                   "know the keys that the application's tables have"});
  }
  if (made.gateway.reconcile_interval.count() > 0) {
    out.push_back({remark::grade::warning, interval,
                   "[reconcile] interval: does nothing with [store] key_pepper_file, as the store "
                   "does not know the keys to ask for; a repeat of the client asks the probe"});
  }
}

}  // namespace onceguard::config
