// How a sender of webhooks signs its deliveries, and where a delivery has its id. Plain data: the
// presets and the senders of users are read from the same kind of table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "webhook/pattern.hpp"

namespace onceguard::webhook {

enum class signature_algorithm : std::uint8_t {
  hmac_sha256,
  hmac_sha1,
  rsa_sha256,  ///< RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017)
};
enum class signature_encoding : std::uint8_t { hex, base64 };
/// What is between the signatures in the header.
enum class signature_separator : std::uint8_t { none, comma, space };
enum class secret_form : std::uint8_t {
  raw,    ///< the bytes as they are
  whsec,  ///< base64 behind `whsec_`
  base64,
  hex,
  pem,  ///< public keys and certificates
};

struct sender {
  std::string name;
  std::vector<pattern> id;          ///< the first one that is there counts
  std::optional<source> signature;  ///< where the signatures are …
  signature_separator separator = signature_separator::none;  ///< … with this between them …
  std::string prefix;                                         ///< … and this before each
  signature_encoding encoding = signature_encoding::hex;
  signature_algorithm algorithm = signature_algorithm::hmac_sha256;
  pattern content{{.type = pattern_part::kind::body}};  ///< what is signed
  secret_form secret = secret_form::raw;
  /// Seconds since 1970, or RFC 3339 with the offset Z.
  std::optional<source> timestamp;
  std::int64_t tolerance_seconds = 0;  ///< how far the timestamp may be from now; 0: any
  /// Where a delivery has the SHA-256 of its body in hex, if it has one: then the body is no form.
  std::optional<source> body_hash;
  std::vector<std::string> absent;  ///< JSON Pointers to what no delivery has, as it is not signed

  /// Of the refusal of a delivery that is forged, or too late. 0: 403.
  std::uint16_t refused_status = 0;

  // For deliveries that go to a queue.
  std::vector<std::string> queued_headers{};  ///< the fields that go with the body
  std::uint16_t accepted_status = 200;        ///< the answer that the sender expects …
  std::string accepted_type{};                ///< … its Content-Type; empty: none …
  std::string accepted_body{};                ///< … and its body
  /// Where the value is by which the sender checks a new address, and which it expects back.
  std::optional<source> challenge{};
};

/// What does not fit together in the description of a sender; empty: nothing.
[[nodiscard]] std::string complaint(const sender& about);

/// Whether the signature covers the id. If not, whoever has seen one delivery can send its body
/// again under another id.
[[nodiscard]] bool signs_id(const sender& about);

/// The presets as TOML: tables [[webhook]].
[[nodiscard]] std::string_view presets() noexcept;

}  // namespace onceguard::webhook
