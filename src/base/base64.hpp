// Bytes as base64 and base64url (RFC 4648).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// The opposite; empty for any other text: with white space, misplaced padding or unused bits.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);
/// The bytes of base64url without padding (RFC 7515 section 2); empty: it is none.
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

}  // namespace onceguard::base
