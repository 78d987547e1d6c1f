// Verifies a JSON Web Token (RFC 7519) in its compact form (RFC 7515).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "token/key_set.hpp"

namespace onceguard::tokens {

inline constexpr std::size_t token_size_max = 16 * 1024;  ///< bytes

struct rules {
  std::string issuer;          ///< empty: any
  std::string audience;        ///< one of the token's; empty: any
  std::int64_t leeway_s = 60;  ///< by which the clock of the issuer may differ
};

/// The token's issuer and the claim as one text, with the length of the issuer before both. `now_s`
/// is the wall clock in seconds. See token_verifier::verify for the errors.
[[nodiscard]] result<std::string> verify(std::string_view token, std::string_view claim,
                                         std::span<const key> keys, const rules& rules,
                                         std::int64_t now_s);

}  // namespace onceguard::tokens
