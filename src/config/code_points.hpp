// UTF-8, and a workaround for characters that the TOML parser can't handle.
//
// toml++ 3.3 has undefined behaviour for characters from U+00A1 to U+FEFF where it expects white
// space, and takes some of them for white space or line ends. Characters beyond U+FEFF are safe. So
// those characters are moved into the private-use plane U+F0000 before parsing, and moved back in
// the parsed texts. Lines and columns stay the same.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::config {

/// The position of the first byte that is malformed UTF-8 or begins a character of the plane
/// U+F0000 (which real documents don't use).
[[nodiscard]] std::optional<std::size_t> find_unreadable(std::string_view text);

/// For text that find_unreadable() accepts. Keeps a byte order mark at the beginning.
[[nodiscard]] std::string lifted(std::string_view text);
[[nodiscard]] std::string lowered(std::string_view text);

}  // namespace onceguard::config
