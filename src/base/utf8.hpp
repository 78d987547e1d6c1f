// The characters of UTF-8 (RFC 3629).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace onceguard::base {

struct code_point {
  char32_t value = 0;
  std::size_t size = 0;  ///< in bytes; 0: malformed
};

/// The character at the beginning of a text that is not empty.
[[nodiscard]] code_point first_character(std::string_view text) noexcept;
/// Appends the character, also a surrogate, which is no UTF-8 then.
void append_character(std::string& out, char32_t value);

}  // namespace onceguard::base
