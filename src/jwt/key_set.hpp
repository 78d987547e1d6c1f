// The public keys and secrets that tokens are signed with: a JSON Web Key Set (RFC 7517).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

// NOLINTNEXTLINE(readability-identifier-naming): the name that OpenSSL has
using EVP_PKEY = struct evp_pkey_st;

namespace onceguard::jwt {

/// How a signature is made and checked.
enum class scheme : std::uint8_t { hmac, rsa, rsa_pss, ecdsa, eddsa };

/// A signature algorithm of RFC 7518 or RFC 8037.
struct algorithm {
  std::string_view name;  ///< "RS256"
  jwt::scheme scheme;
  std::string_view hash;   ///< "SHA256"; of EdDSA empty
  std::string_view curve;  ///< ecdsa: "P-256"; otherwise empty
};

/// Null: the algorithm is not known; `none` is not.
[[nodiscard]] const algorithm* find_algorithm(std::string_view name) noexcept;

/// One key. The key says which algorithms it verifies, so a token can't choose another one: else an
/// HMAC made with the text of a public key would count (RFC 8725, section 2.1).
class key {
 public:
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// Whose tokens it verifies: its member `iss`; empty: it names nobody.
  [[nodiscard]] const std::string& issuer() const noexcept { return issuer_; }
  /// Whether a signature of this algorithm may be checked with this key.
  [[nodiscard]] bool fits(const algorithm& wanted) const noexcept;
  /// Whether `signature`, in the form that RFC 7518 gives it, is that of `text`.
  [[nodiscard]] bool verifies(const algorithm& used, std::string_view signature,
                              std::string_view text) const;

 private:
  friend class key_reader;
  std::string id_;  // empty: the key has none
  std::string issuer_;
  std::string algorithm_;  // empty: every one of its kind
  jwt::scheme scheme_ = scheme::hmac;
  std::string curve_;              // ecdsa
  std::string secret_;             // hmac
  std::shared_ptr<EVP_PKEY> key_;  // the others
};

inline constexpr std::size_t keys_max = 100;  ///< of a set

/// Reads the keys that are for signatures; others, and those of unknown kinds, are left out, as
/// RFC 7517 section 5 has it. Errors name the key by its position and never repeat a secret:
/// no JSON, no `keys`, a damaged or a weak key (RSA under 2048 bits, a secret shorter than the
/// hash), no key at all.
[[nodiscard]] result<std::vector<key>> read_key_set(std::string_view json);

}  // namespace onceguard::jwt
