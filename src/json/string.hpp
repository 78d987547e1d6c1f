// JSON strings: read into UTF-8, written as RFC 8785 wants them, and put in its order.
#pragma once
#include <string>
#include <string_view>

#include "json/cursor.hpp"

namespace onceguard::core {

/// Reads the string at the cursor (which is at its quotation mark) and appends what it says to
/// `out`: never more bytes than it took. Refused are control characters, unknown escapes, lone
/// surrogates and what is not UTF-8.
[[nodiscard]] bool read_json_string(json_cursor& cursor, std::string& out);

/// Appends the text (valid UTF-8) in quotation marks, escaping only what must be.
void append_json_string(std::string& out, std::string_view text);

/// The order of RFC 8785 section 3.2.3, by UTF-16 code units, of two valid UTF-8 texts.
[[nodiscard]] bool utf16_less(std::string_view a, std::string_view b) noexcept;

}  // namespace onceguard::core
