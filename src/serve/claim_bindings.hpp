// What each claim id was sent with: a repeat asks for the same, or it is no repeat.
#pragma once
#include <array>

#include "base/recent_table.hpp"
#include "serve/protocol_calls.hpp"

namespace onceguard::serve {

/// SHA-256 of what the claim asks for: all of its members but how long it waits.
using claim_digest = std::array<unsigned char, 32>;
[[nodiscard]] claim_digest digest_of(const claim_call& call);
/// The id that the store gets, so that a claim with other members is never taken for this one.
[[nodiscard]] claim_id bound_id(const claim_id& given, const claim_digest& members);

/// The latest claim ids, to tell a client of its mistake. Thread-safe.
class claim_bindings {
 public:
  /// False: the id came before, for something else.
  [[nodiscard]] bool bind(const claim_id& given, const claim_digest& members);

 private:
  base::recent_table<claim_digest> known_{32'768};
};

}  // namespace onceguard::serve
