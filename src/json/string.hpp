// JSON strings: reading into UTF-8, writing as RFC 8785 requires, and the RFC 8785 sort order.
#pragma once
#include <string>
#include <string_view>

#include "json/cursor.hpp"

namespace onceguard::core {

/// Reads the string at the cursor, whose next byte is the quotation mark, and appends its contents
/// to `out`: never more bytes than the string takes in the text. Refuses control characters,
/// unknown escapes, lone surrogates and invalid UTF-8.
[[nodiscard]] bool read_json_string(json_cursor& cursor, std::string& out);

/// Appends `text` (valid UTF-8) in quotation marks with only the required escapes.
void append_json_string(std::string& out, std::string_view text);

/// Orders two valid UTF-8 texts by UTF-16 code units, as RFC 8785 section 3.2.3 requires.
[[nodiscard]] bool utf16_less(std::string_view a, std::string_view b) noexcept;

}  // namespace onceguard::core
