// Bytes as base64 (RFC 4648), as JSON texts carry them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::aws {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// nullopt: it is no base64 with its padding.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace onceguard::aws
