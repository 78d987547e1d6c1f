#include "jwt/key_set.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include "base/base64.hpp"
#include "base/json_reader.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::jwt {
namespace {

using nlohmann::json;

constexpr int rsa_bits_min = 2048;  // RFC 7518 section 3.3

// Without "none": a token that nobody has signed is nobody's (RFC 8725, section 3.2).
constexpr std::array algorithms{
    algorithm{"HS256", scheme::hmac, "SHA256", ""},
    algorithm{"HS384", scheme::hmac, "SHA384", ""},
    algorithm{"HS512", scheme::hmac, "SHA512", ""},
    algorithm{"RS256", scheme::rsa, "SHA256", ""},
    algorithm{"RS384", scheme::rsa, "SHA384", ""},
    algorithm{"RS512", scheme::rsa, "SHA512", ""},
    algorithm{"PS256", scheme::rsa_pss, "SHA256", ""},
    algorithm{"PS384", scheme::rsa_pss, "SHA384", ""},
    algorithm{"PS512", scheme::rsa_pss, "SHA512", ""},
    algorithm{"ES256", scheme::ecdsa, "SHA256", "P-256"},
    algorithm{"ES384", scheme::ecdsa, "SHA384", "P-384"},
    algorithm{"ES512", scheme::ecdsa, "SHA512", "P-521"},
    algorithm{"EdDSA", scheme::eddsa, "", ""},
};

using bignum = base::unique_handle<BIGNUM, BN_free>;
using builder = base::unique_handle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;

const unsigned char* octets(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bignum number_of(std::string_view bytes) {
  return bignum(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> make_key(const char* kind, OSSL_PARAM_BLD* parts) {
  const base::unique_handle<OSSL_PARAM, OSSL_PARAM_free> params(OSSL_PARAM_BLD_to_param(parts));
  const base::unique_handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* made = nullptr;
  const bool good = params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                    EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  ERR_clear_error();
  if (!good) return nullptr;
  return {made, EVP_PKEY_free};
}

/// The two numbers of RFC 7518 section 3.4 as the DER that OpenSSL reads; empty: they are none.
std::string der_of(std::string_view signature, std::size_t number_size) {
  if (signature.size() != 2 * number_size) return {};
  auto r = number_of(signature.substr(0, number_size));
  auto s = number_of(signature.substr(number_size));
  const base::unique_handle<ECDSA_SIG, ECDSA_SIG_free> both(ECDSA_SIG_new());
  if (!r || !s || !both || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) return {};
  [[maybe_unused]] const auto* const r_taken = r.release();
  [[maybe_unused]] const auto* const s_taken = s.release();
  unsigned char* made = nullptr;
  const int size = i2d_ECDSA_SIG(both.get(), &made);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  OPENSSL_free(made);
  return out;
}

bool hmac_verifies(const std::string& secret, const algorithm& used, std::string_view signature,
                   std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned size = 0;
  const auto* hash = EVP_get_digestbyname(used.hash.data());
  const bool good = HMAC(hash, secret.data(), static_cast<int>(secret.size()), octets(text),
                         text.size(), made.data(), &size) != nullptr;
  return good && signature.size() == size &&
         CRYPTO_memcmp(made.data(), signature.data(), size) == 0;
}

std::size_t hash_size(std::string_view hash) {
  return static_cast<std::size_t>(EVP_MD_get_size(EVP_get_digestbyname(hash.data())));
}

std::size_t bytes_of_number(std::string_view curve) noexcept {
  return curve == "P-256" ? 32 : curve == "P-384" ? 48 : 66;
}

}  // namespace

const algorithm* find_algorithm(std::string_view name) noexcept {
  const auto* const found = std::find_if(algorithms.begin(), algorithms.end(),
                                         [&](const algorithm& one) { return one.name == name; });
  return found == algorithms.end() ? nullptr : found;
}

bool key::fits(const algorithm& wanted) const noexcept {
  if (!algorithm_.empty() && algorithm_ != wanted.name) return false;
  if (scheme_ == scheme::rsa && wanted.scheme == scheme::rsa_pss) return true;
  if (scheme_ == scheme::hmac && secret_.size() < hash_size(wanted.hash)) return false;
  return scheme_ == wanted.scheme && curve_ == wanted.curve;
}

bool key::verifies(const algorithm& used, std::string_view signature, std::string_view text) const {
  if (used.scheme == scheme::hmac) return hmac_verifies(secret_, used, signature, text);
  std::string der;
  if (used.scheme == scheme::ecdsa) {
    der = der_of(signature, bytes_of_number(used.curve));
    if (der.empty()) return false;
    signature = der;
  }
  const base::unique_handle<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  const auto* hash = used.hash.empty() ? nullptr : EVP_get_digestbyname(used.hash.data());
  EVP_PKEY_CTX* settings = nullptr;
  bool good =
      context && EVP_DigestVerifyInit(context.get(), &settings, hash, nullptr, key_.get()) == 1;
  if (good && used.scheme == scheme::rsa_pss) {
    good = EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  good = good && EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(text),
                                  text.size()) == 1;
  if (!good) ERR_clear_error();  // or another call of this thread would find it
  return good;
}

// ---- reading a set

/// Reads one JWK.
class key_reader {
 public:
  explicit key_reader(const json& source) : source_(source) {}

  /// Empty: the key is not for signatures, or of an unknown kind.
  result<std::optional<key>> read() {
    if (!source_.is_object()) return fault("is no object");
    if (!is_for_signatures()) return std::optional<key>();
    if (source_.contains("iss") && base::text_in(source_, "iss").empty())
      return fault("has no text iss");
    made_.id_ = base::text_in(source_, "kid");
    made_.issuer_ = base::text_in(source_, "iss");
    made_.algorithm_ = base::text_in(source_, "alg");
    const auto kind = base::text_in(source_, "kty");
    std::string why;
    if (kind == "RSA") {
      why = read_rsa();
    } else if (kind == "EC") {
      if (!is_known_curve()) return std::optional<key>();
      why = read_ec();
    } else if (kind == "OKP") {
      const auto curve = base::text_in(source_, "crv");
      if (curve != "Ed25519" && curve != "Ed448") return std::optional<key>();
      why = read_okp(curve);
    } else if (kind == "oct") {
      why = read_secret();
    } else {
      return std::optional<key>();
    }
    if (!why.empty()) return fault(why);
    return std::optional<key>(std::move(made_));
  }

 private:
  static error fault(const std::string& why) { return {errc::invalid_argument, why}; }

  [[nodiscard]] bool is_for_signatures() const {
    const auto use = base::text_in(source_, "use");
    if (!use.empty() && use != "sig") return false;
    const auto* const uses = base::find_member(source_, "key_ops");
    if (uses != nullptr && uses->is_array() &&
        std::none_of(uses->begin(), uses->end(),
                     [](const json& one) { return one == "verify" || one == "sign"; })) {
      return false;
    }
    const auto alg = base::text_in(source_, "alg");
    return alg.empty() || find_algorithm(alg) != nullptr;
  }

  [[nodiscard]] bool bytes(const char* name, std::string& out) const {
    auto decoded = base::from_base64url(base::text_in(source_, name));
    if (decoded) out = *std::move(decoded);
    return !out.empty();
  }

  std::string read_rsa() {
    std::string modulus;
    std::string exponent;
    if (!bytes("n", modulus) || !bytes("e", exponent)) return "has no n or e in base64url";
    const auto n = number_of(modulus);
    const auto e = number_of(exponent);
    // RFC 8017 section 3.1. With 1, anybody's text is its own signature.
    if (!e || !BN_is_odd(e.get()) || BN_is_one(e.get())) return "has an e that is not odd, or is 1";
    const builder parts(OSSL_PARAM_BLD_new());
    if (!parts || OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
      return "can't be read";
    }
    made_.scheme_ = scheme::rsa;
    made_.key_ = make_key("RSA", parts.get());
    if (!made_.key_) return "is no RSA key";
    return EVP_PKEY_get_bits(made_.key_.get()) < rsa_bits_min ? "has fewer than 2048 bits" : "";
  }

  [[nodiscard]] bool is_known_curve() const {
    const auto curve = base::text_in(source_, "crv");
    return curve == "P-256" || curve == "P-384" || curve == "P-521";
  }

  std::string read_ec() {
    const auto curve = base::text_in(source_, "crv");
    std::string x;
    std::string y;
    const auto size = bytes_of_number(curve);
    if (!bytes("x", x) || !bytes("y", y) || x.size() != size || y.size() != size) {
      return "has no x or y of the curve's length in base64url";
    }
    const auto point = "\x04" + x + y;
    const builder parts(OSSL_PARAM_BLD_new());
    if (!parts ||
        OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.c_str(),
                                        0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
      return "can't be read";
    }
    made_.scheme_ = scheme::ecdsa;
    made_.curve_ = curve;
    made_.key_ = make_key("EC", parts.get());
    return made_.key_ ? "" : "is no point of " + curve;
  }

  std::string read_okp(const std::string& curve) {
    std::string x;
    if (!bytes("x", x)) return "has no x in base64url";
    made_.scheme_ = scheme::eddsa;
    auto* raw = EVP_PKEY_new_raw_public_key(curve == "Ed25519" ? EVP_PKEY_ED25519 : EVP_PKEY_ED448,
                                            nullptr, octets(x), x.size());
    ERR_clear_error();
    if (raw == nullptr) return "is no key of " + curve;
    made_.key_ = {raw, EVP_PKEY_free};
    return {};
  }

  std::string read_secret() {
    made_.scheme_ = scheme::hmac;
    if (!bytes("k", made_.secret_)) return "has no k in base64url";
    const auto* named = find_algorithm(made_.algorithm_);
    // RFC 7518, section 3.2.
    const auto least = hash_size(named == nullptr ? "SHA256" : named->hash);
    return made_.secret_.size() < least
               ? "is a secret of fewer than " + std::to_string(least) + " bytes"
               : "";
  }

  const json& source_;
  key made_;
};

result<std::vector<key>> read_key_set(std::string_view text) {
  const auto fault = [](std::string why) { return error(errc::invalid_argument, std::move(why)); };
  json document;
  const auto read_as = base::parse_unambiguous(text, document);
  if (read_as == base::json_fault::no_json) return fault("is no JSON");
  if (read_as == base::json_fault::repeated_name) return fault("has a member twice");
  const auto* const listed = base::find_member(document, "keys");
  if (listed == nullptr || !listed->is_array()) {
    return fault("is no JSON Web Key Set: an object with the array \"keys\" is expected");
  }
  if (listed->size() > keys_max) {
    return fault("has more than " + std::to_string(keys_max) + " keys");
  }
  std::vector<key> out;
  for (std::size_t i = 0; i < listed->size(); ++i) {
    auto read = key_reader((*listed)[i]).read();
    if (!read) return fault("key " + std::to_string(i + 1) + " " + read.error().detail);
    if (*read) out.push_back(**std::move(read));
  }
  if (out.empty()) return fault("has no key for signatures");
  return out;
}

}  // namespace onceguard::jwt
