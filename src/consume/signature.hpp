// How a message is signed for its endpoint, as Standard Webhooks says.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::consume {

/// The keys of signatures in a file: a line each as Standard Webhooks writes it, `whsec_` and
/// base64, several while one replaces another; or any other bytes, less a final newline, which are
/// one key.
[[nodiscard]] result<std::vector<std::string>> read_signing_secrets(const std::string& path);

/// By each key "v1," and the HMAC-SHA256 of "ID.TIMESTAMP.PAYLOAD" in base64, with spaces between
/// them (standardwebhooks.com).
[[nodiscard]] std::string signatures_of(std::span<const std::string> secrets, std::string_view id,
                                        std::int64_t timestamp, std::string_view payload);

}  // namespace onceguard::consume
