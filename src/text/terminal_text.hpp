// Text that a terminal shows as it is, and does not act on.
#pragma once
#include <string>
#include <string_view>

namespace onceguard {

/// Text that is safe for a terminal: unchanged if it is one plain word, otherwise json_string()
/// with `ascii`.
[[nodiscard]] std::string plain_text(std::string_view text);

/// Text of several lines, with `?` in place of control characters, of those that turn a text's
/// direction or show nothing (U+202E, U+200B …), and of bytes that are no UTF-8.
[[nodiscard]] std::string terminal_text(std::string_view text);

}  // namespace onceguard
