#include "store/open.hpp"

namespace onceguard {
namespace {

std::string_view scheme_of(std::string_view url) {
  const auto colon = url.find(':');
  return colon == std::string_view::npos ? std::string_view{} : url.substr(0, colon);
}

}  // namespace

bool store_registry::knows(std::string_view url) const {
  return factories_.find(scheme_of(url)) != factories_.end();
}

result<std::unique_ptr<store>> store_registry::open(const store_params& params) const {
  const auto found = factories_.find(scheme_of(params.url));
  if (found == factories_.end()) {
    std::string known;
    for (const auto& [scheme, factory] : factories_) {
      known += (known.empty() ? "" : ", ") + scheme + ":";
    }
    // The URL itself may hold a password, so only its scheme is named.
    return error(errc::invalid_argument, "store url: unknown scheme \"" +
                                             std::string(scheme_of(params.url)) +
                                             "\"; this build knows " + known);
  }
  return found->second(params);
}

}  // namespace onceguard
