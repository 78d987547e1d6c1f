// The cursor of the JSON readers, and JSON strings and numbers: reading, and writing as RFC 8785
// requires.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace onceguard {

/// The position of a reader and the first fault found. Readers return false after `fail`.
struct json_cursor {
  std::string_view text;
  std::size_t position = 0;
  const char* fault = nullptr;  ///< a string literal; null: no fault so far

  [[nodiscard]] bool at_end() const noexcept { return position == text.size(); }
  /// The next byte, or NUL at the end. No JSON token begins with NUL.
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : text[position]; }
  [[nodiscard]] std::string_view rest() const noexcept { return text.substr(position); }

  bool fail(const char* description) noexcept {
    fault = description;
    return false;
  }

  void skip_space() noexcept {
    while (!at_end()) {
      const char c = text[position];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++position;
    }
  }
};

// Strings (string.cpp)

/// Reads the string at the cursor, whose next byte is the quotation mark, and appends its contents
/// to `out`: never more bytes than the string takes in the text. Refuses control characters,
/// unknown escapes, lone surrogates and invalid UTF-8.
[[nodiscard]] bool read_json_string(json_cursor& cursor, std::string& out);

/// Appends `text` (valid UTF-8) in quotation marks with only the required escapes.
void append_json_string(std::string& out, std::string_view text);

/// Orders two valid UTF-8 texts by UTF-16 code units, as RFC 8785 section 3.2.3 requires.
[[nodiscard]] bool utf16_less(std::string_view a, std::string_view b) noexcept;

// Numbers (number.cpp): reading gives doubles and refuses numbers that a double can't keep apart;
// writing follows ECMAScript (RFC 8785 section 3.2.2.3).

/// Reads the number at the cursor as the nearest double. Refuses malformed numbers and:
/// - more than 17 significant digits (leading and trailing zeros don't count);
/// - numbers outside a double's range: too large, or not zero but too close to zero;
/// - integers beyond 2^53, also in another notation if their canonical form would be such an
///   integer (1e20, which ECMAScript writes out; 1e21 and above keep their exponent).
[[nodiscard]] bool read_json_number(json_cursor& cursor, double& value) noexcept;

/// Reads the number at the cursor, and appends it as it is written. Refuses malformed numbers only.
[[nodiscard]] bool read_json_number_text(json_cursor& cursor, std::string& out);

/// Appends the canonical form of a finite number. -0 becomes 0.
void append_json_number(std::string& out, double value);

}  // namespace onceguard
