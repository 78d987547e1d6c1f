// Who verifies the bearer tokens of requests, where a scope is a claim.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard {
inline namespace v1 {

/// Verifies tokens. The gateway's reads the keys of `[jwt]`; a service may bring its own.
/// Thread-safety: every function may be called from any thread.
class token_verifier {
 public:
  token_verifier() = default;
  token_verifier(const token_verifier&) = delete;
  token_verifier& operator=(const token_verifier&) = delete;
  virtual ~token_verifier() = default;

  /// Verifies a JSON Web Token in its compact form (RFC 7519), and gives who it speaks of: its
  /// issuer and the value of `claim`, as one text in which the two can't be confused.
  /// Errors: errc::invalid_argument, with the reason and without anything of the token as its
  /// detail, if the token is malformed, not signed by a known key, expired, not valid yet, of
  /// another issuer or for another audience, or if `claim` is missing or neither a text nor a whole
  /// number.
  [[nodiscard]] virtual result<std::string> verify(std::string_view token,
                                                   std::string_view claim) const = 0;

  /// Whether verifying the token takes no time worth mentioning, as its signature was looked at
  /// before. Anybody can send tokens, so the gateway lets a thread of its own verify others first.
  [[nodiscard]] virtual bool knows([[maybe_unused]] std::string_view bearer) const { return true; }
};

}  // namespace v1
}  // namespace onceguard
