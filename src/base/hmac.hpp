// HMAC-SHA-256 of OpenSSL (RFC 2104).
#pragma once
#include <array>
#include <string_view>

namespace onceguard::base {

/// Throws std::runtime_error if OpenSSL has no memory for it.
[[nodiscard]] std::array<unsigned char, 32> hmac_sha256(std::string_view secret,
                                                        std::string_view text);

}  // namespace onceguard::base
