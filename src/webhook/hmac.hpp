// HMAC and the secrets that it is made with.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "webhook/sender.hpp"

namespace onceguard::webhook {

enum class hmac_hash : std::uint8_t { sha256, sha1 };

/// The bytes of the HMAC (RFC 2104).
[[nodiscard]] std::string hmac_of(hmac_hash hash, std::string_view secret, std::string_view text);

/// The bytes that pairs of hex digits of either case name; empty: other text.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view text);

/// The bytes of a secret as a sender shows it; keys in PEM form are no secrets, and need
/// read_public_keys. The error does not repeat it.
[[nodiscard]] result<std::string> decode_secret(std::string_view text, secret_form form);

/// The secrets of a regular file, one a line; several while a secret is being replaced. A blank
/// line is refused. The error names the file and the line.
[[nodiscard]] result<std::vector<std::string>> read_secrets(const std::string& path,
                                                            secret_form form);

}  // namespace onceguard::webhook
