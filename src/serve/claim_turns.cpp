#include "serve/claim_turns.hpp"

#include <algorithm>

namespace onceguard::serve {

claim_turns::~claim_turns() {
  if (!has_begun_) return;
  for (const auto& each : claims_) table_.end_claim(each);
}

bool claim_turns::add(const claim_id& claim) {
  if (std::ranges::find(claims_, claim) != claims_.end()) return false;
  claims_.push_back(claim);
  return true;
}

bool claim_turns::begin() {
  has_begun_ = has_begun_ || table_.begin_claims(claims_);
  return has_begun_;
}

claim_under_way claim_turns::take(const claim_id& claim) {
  std::erase(claims_, claim);
  return {table_, claim};
}

}  // namespace onceguard::serve
