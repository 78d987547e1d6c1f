// Classes of octets (RFC 9110 section 5.6, RFC 3986), and a fast search for control characters.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace onceguard::base {

using octet_class = std::array<bool, 256>;

[[nodiscard]] constexpr octet_class class_of_alphanumerics_and(std::string_view more) noexcept {
  octet_class members{};
  for (unsigned c = 0; c < 256; ++c) {
    members[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  for (const char c : more) members[static_cast<unsigned char>(c)] = true;
  return members;
}

inline constexpr octet_class token_octets = class_of_alphanumerics_and("!#$%&'*+-.^_`|~");
/// RFC 3986 "unreserved". Parsers disagree about the other characters of a registered name (percent
/// escapes, and sub-delims such as the comma).
inline constexpr octet_class unreserved_octets = class_of_alphanumerics_and("-._~");

[[nodiscard]] constexpr bool all_in(const octet_class& members, std::string_view text) noexcept {
  bool all = true;  // no early exit: texts are short, and nearly all pass
  for (const char c : text) all &= members[static_cast<unsigned char>(c)];
  return all;
}

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr bool is_hex_digit(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

[[nodiscard]] constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Sets the high bit of each control character among eight octets. Exact up to the lowest control
/// character.
[[nodiscard]] constexpr std::uint64_t control_bits(std::uint64_t octets) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t high = ones * 0x80;
  const std::uint64_t below_space = (octets - ones * 0x20) & ~octets;
  const std::uint64_t without_delete = octets ^ (ones * 0x7f);
  const std::uint64_t is_delete = (without_delete - ones) & ~without_delete;
  return (below_space | is_delete) & high;
}

/// The first control character (including tab), or `end`. Reads eight octets at a time.
[[nodiscard]] inline const char* find_control(const char* position, const char* end) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - position >= 8; position += 8) {
      std::uint64_t octets;
      std::memcpy(&octets, position, sizeof octets);
      if (const auto bits = control_bits(octets)) return position + std::countr_zero(bits) / 8;
    }
  }
  while (position != end && !is_control(*position)) ++position;
  return position;
}

/// Whether the text may be the name of a header field, or a method.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && all_in(token_octets, text);
}

/// Whether the text may be the value of a header field: no CR, LF, NUL or other control character
/// but tab.
[[nodiscard]] inline bool is_field_value(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  const char* position = find_control(text.data(), end);
  while (position != end && *position == '\t') position = find_control(position + 1, end);
  return position == end;
}

}  // namespace onceguard::base
