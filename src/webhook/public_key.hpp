// Public keys that are pinned in a file, and the signatures that they verify.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

struct evp_pkey_st;  // OpenSSL's, whose headers stay out of others'

namespace onceguard::webhook {

/// An RSA key. Immutable, and cheap to copy.
class public_key {
 public:
  /// `end`: of the certificate, in seconds since 1970; the greatest number for a key without one.
  public_key(std::shared_ptr<evp_pkey_st> key, std::int64_t end)
      : key_(std::move(key)), end_(end) {}

  /// Whether the key made the signature, with RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2), of a text
  /// whose SHA-256 is `hash`, and its certificate has not ended at `now`, in seconds since 1970.
  /// Takes the hash, as one text may come with many signatures. Thread-safe.
  [[nodiscard]] bool verifies(std::string_view signature, const digest& hash,
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
