// Verifies a JSON Web Token (RFC 7519) in its compact form (RFC 7515).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "jwt/key_set.hpp"

namespace onceguard::jwt {

inline constexpr std::size_t token_size_max = 16 * 1024;  ///< bytes

struct rules {
  std::string issuer;          ///< empty: any
  std::string audience;        ///< one of the token's; empty: any
  std::int64_t leeway_s = 60;  ///< by which the clock of the issuer may differ
};

inline constexpr std::size_t tries_max = 4;  ///< keys that are tried for one token

/// What came of looking for the key that has signed a token.
struct signature_finding {
  std::string fault;   ///< why none has; empty: one has
  std::string issuer;  ///< of that key; empty: the key names none
};
/// Takes as long as the signatures that are tried. Of the keys that may have signed the token, only
/// the first few are tried: a token that names its key seldom fits more than one.
[[nodiscard]] signature_finding find_signer(std::string_view token, std::span<const key> keys);

/// What a token says whose signature was found good. The issuer must be that of its key. `now_s` is
/// the wall clock in seconds.
[[nodiscard]] result<std::string> read_claim(std::string_view token, std::string_view claim,
                                             const std::string& issuer_of_key, const rules& rules,
                                             std::int64_t now_s);

/// Both. Gives the token's issuer and the claim as one text, with the length of the issuer before
/// both, and with the type of the claim unless it is a text. See token_verifier::verify for the
/// errors.
[[nodiscard]] result<std::string> verify(std::string_view token, std::string_view claim,
                                         std::span<const key> keys, const rules& rules,
                                         std::int64_t now_s);

}  // namespace onceguard::jwt
