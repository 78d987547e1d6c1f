#include "store/registration.hpp"

namespace onceguard {

namespace {

std::vector<const store_kind*>& registered() {
  static std::vector<const store_kind*> all;
  return all;
}

}  // namespace

store_registration::store_registration(const store_kind& kind) { registered().push_back(&kind); }

const store_registry& linked_stores() {
  static const store_registry all(registered());
  return all;
}

}  // namespace onceguard
