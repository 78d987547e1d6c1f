// UTF-8, and a detour around the parser's trouble with some of it.
//
// toml++ 3.3 has undefined behaviour for characters from U+00A1 to U+FEFF where it looks for white
// space, and takes some of them for white space or line ends. Characters beyond U+FEFF are safe.
// So the former are lifted into the private-use plane U+F0000 before it parses, and lowered again
// in what it read. Lines and columns stay the same.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::config {

/// The first byte that is not well-formed UTF-8, or begins a character of the plane that is lifted
/// into (nobody writes those).
[[nodiscard]] std::optional<std::size_t> find_unreadable(std::string_view text);

/// For text in which nothing is unreadable. A byte order mark at the beginning stays.
[[nodiscard]] std::string lifted(std::string_view text);
[[nodiscard]] std::string lowered(std::string_view text);

}  // namespace onceguard::config
