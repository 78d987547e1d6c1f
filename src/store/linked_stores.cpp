#include "store/linked_stores.hpp"

#include <algorithm>

namespace onceguard {

namespace {

std::vector<const store_kind*>& registered() {
  static std::vector<const store_kind*> all;
  return all;
}

}  // namespace

store_registration::store_registration(const store_kind& kind) { registered().push_back(&kind); }

const store_registry& linked_stores() {
  static const store_registry all([] {
    auto kinds = registered();
    std::sort(kinds.begin(), kinds.end(), [](const store_kind* one, const store_kind* other) {
      return one->position < other->position;
    });
    return kinds;
  }());
  return all;
}

}  // namespace onceguard
