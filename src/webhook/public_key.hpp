// Public keys that are pinned in a file, and the signatures that they verify.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

struct evp_pkey_st;  // OpenSSL's, whose headers stay out of others'

namespace onceguard::webhook {

/// An RSA key. Immutable, and cheap to copy.
class public_key {
 public:
  /// `end`: of the certificate, in seconds since 1970; the greatest number for a key without one.
  public_key(std::shared_ptr<evp_pkey_st> key, std::int64_t end)
      : key_(std::move(key)), end_(end) {}

  /// Whether the key made the signature of the text with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017
  /// section 8.2), and its certificate has not ended at `now`, in seconds since 1970. Thread-safe.
  [[nodiscard]] bool verifies(std::string_view signature, std::string_view text,
                              std::int64_t now) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::int64_t end_;
};

/// The keys of a file in PEM form: `PUBLIC KEY` and `CERTIFICATE`, several while one is being
/// replaced. A certificate is taken as it is: that somebody put it there is what makes it good. The
/// error names the file; it is one too that a key is not RSA, or has fewer than 2048 bits.
[[nodiscard]] result<std::vector<public_key>> read_public_keys(const std::string& path);

}  // namespace onceguard::webhook
