// How a sender of webhooks signs its deliveries, and where a delivery has its id. Plain data: the
// presets and the senders of users are read from the same kind of table.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::webhook {

/// Where a value of a delivery stands.
struct source {
  enum class location : std::uint8_t {
    header,     ///< a header field
    json,       ///< in a JSON body; `name` is an RFC 6901 pointer
    form,       ///< a parameter of a body that is a form
    signature,  ///< an element NAME=VALUE of the header with the signature
  };
  location where = location::header;
  std::string name;
};
/// "header:NAME", "json:/POINTER", "form:NAME", "signature:NAME".
[[nodiscard]] result<source> parse_source(std::string_view text);

enum class hmac_hash : std::uint8_t { sha256, sha1 };
enum class signature_encoding : std::uint8_t { hex, base64 };
/// What is between the signatures in the header.
enum class signature_separator : std::uint8_t { none, comma, space };
enum class secret_form : std::uint8_t {
  raw,    ///< the bytes as they are
  whsec,  ///< base64 behind `whsec_`
  base64,
};

struct sender {
  std::string name;
  std::vector<source> id;        ///< the first one that is there counts
  std::string signature_header;  ///< has the signatures …
  signature_separator separator = signature_separator::none;  ///< … with this between them …
  std::string prefix;                                         ///< … and this before each
  signature_encoding encoding = signature_encoding::hex;
  hmac_hash hash = hmac_hash::sha256;
  std::string content = "{body}";  ///< what is signed: text, {id}, {timestamp} and {body}
  secret_form secret = secret_form::raw;
  std::vector<source> timestamp;       ///< seconds since 1970; empty or one
  std::int64_t tolerance_seconds = 0;  ///< how far the timestamp may be from now; 0: any

  // For deliveries that go to a queue.
  std::vector<std::string> queued_headers{};  ///< the fields that go with the body
  std::uint16_t accepted_status = 200;        ///< the answer that the sender expects …
  std::string accepted_type{};                ///< … its Content-Type; empty: none …
  std::string accepted_body{};                ///< … and its body
  /// The sender checks a new address by a value that it expects as the answer; empty or one.
  std::vector<source> challenge{};
};

/// What does not fit together in the description of a sender; empty: nothing.
[[nodiscard]] std::string complaint(const sender& about);

/// Whether the signature covers the id. If not, whoever has seen one delivery can send its body
/// again under another id.
[[nodiscard]] bool signs_id(const sender& about);

/// The presets as TOML: tables [[webhook]].
[[nodiscard]] std::string_view presets() noexcept;

}  // namespace onceguard::webhook
