#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/utf8.hpp"
#include "json/scalars.hpp"

namespace onceguard {
namespace {

constexpr unsigned char byte_of(char c) noexcept { return static_cast<unsigned char>(c); }

/// True for ASCII characters that need no escape in a string.
constexpr auto plain_ascii = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0x20; c < 0x80; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

/// Reads the four hexadecimal digits after `\u`.
bool read_code_unit(json_cursor& cursor, std::uint32_t& unit) noexcept {
  const auto digits = cursor.rest().substr(0, 4);
  const auto* const end = std::from_chars(digits.begin(), digits.end(), unit, 16).ptr;
  cursor.position += static_cast<std::size_t>(end - digits.begin());
  if (end - digits.begin() == 4) return true;
  return cursor.fail("\\u needs four hexadecimal digits");
}

/// Reads the digits after `\u`, and the second half of a surrogate pair.
bool read_code_point(json_cursor& cursor, std::string& out) {
  std::uint32_t point = 0;
  if (!read_code_unit(cursor, point)) return false;
  if (point >= 0xDC00 && point <= 0xDFFF) return cursor.fail("a lone surrogate");
  if (point >= 0xD800 && point <= 0xDBFF) {
    if (!cursor.rest().starts_with("\\u")) return cursor.fail("a lone surrogate");
    cursor.position += 2;
    std::uint32_t low = 0;
    if (!read_code_unit(cursor, low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return cursor.fail("a lone surrogate");
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  }
  base::append_character(out, point);
  return true;
}

/// Reads an escape behind its backslash.
bool read_escape(json_cursor& cursor, std::string& out) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  const char c = cursor.peek();
  const auto letter = letters.find(c);
  if (c != 'u' && letter == letters.npos) return cursor.fail("an escape that JSON does not know");
  ++cursor.position;
  if (c == 'u') return read_code_point(cursor, out);
  out += "\"\\/\b\f\n\r\t"[letter];
  return true;
}

/// Skips unescaped characters up to the next quotation mark, escape, fault or the end.
void pass_plain(json_cursor& cursor) noexcept {
  while (!cursor.at_end()) {
    const unsigned char c = byte_of(cursor.text[cursor.position]);
    if (plain_ascii[c]) {
      ++cursor.position;
      continue;
    }
    const std::size_t length = c < 0x80 ? 0 : base::first_character(cursor.rest()).size;
    if (length == 0) return;
    cursor.position += length;
  }
}

}  // namespace

bool read_json_string(json_cursor& cursor, std::string& out) {
  ++cursor.position;
  while (true) {
    const std::size_t begin = cursor.position;
    pass_plain(cursor);
    out.append(cursor.text, begin, cursor.position - begin);
    if (cursor.at_end()) return cursor.fail("a string without an end");
    const char c = cursor.peek();
    if (c == '"') {
      ++cursor.position;
      return true;
    }
    if (c != '\\') {
      return cursor.fail(byte_of(c) < 0x20 ? "a control character in a string" : "not UTF-8");
    }
    ++cursor.position;
    if (!read_escape(cursor, out)) return false;
  }
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = byte_of(text[i]);
    if (plain_ascii[c] || c >= 0x80) continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += "\\u00";
        out += digits[c >> 4];
        out += digits[c & 15];
    }
  }
  out.append(text, begin);
  out += '"';
}

bool utf16_less(std::string_view a, std::string_view b) noexcept {
  // UTF-8 bytes sort like UTF-16 code units with one exception: U+E000 to U+FFFF (lead bytes EE and
  // EF) sort after the surrogates of U+10000 and above (lead bytes F0 to F4).
  const auto weight = [](char c) -> unsigned {
    const unsigned byte = byte_of(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
  };
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (y == b.end()) return false;
  return x == a.end() || weight(*x) < weight(*y);
}

}  // namespace onceguard
