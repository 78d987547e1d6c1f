// Text for output: JSON for logs and `--json`, and text that is safe for a terminal.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/time_text.hpp"

namespace onceguard {

/// `text` as a quoted JSON string. Invalid UTF-8 becomes U+FFFD. With `ascii`, everything except
/// printable ASCII is escaped, so that no terminal acts on it.
[[nodiscard]] std::string json_string(std::string_view text, bool ascii = false);

/// Text that is safe for a terminal: unchanged if it is one plain word, otherwise json_string()
/// with `ascii`.
[[nodiscard]] std::string plain_text(std::string_view text);

/// Text of several lines, with `?` in place of control characters, of those that turn a text's
/// direction or show nothing (U+202E, U+200B …), and of bytes that are no UTF-8.
[[nodiscard]] std::string terminal_text(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

using base::time_text;

}  // namespace onceguard
