#include "serve/json_body.hpp"

#include "base/utf8.hpp"

namespace onceguard::serve {
namespace {

/// The letter behind the backslash; 0: the character has none of its own.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

constexpr std::size_t long_escape = 6;  // \u001f

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }
bool is_plain(char c) { return !is_control(c) && c != '"' && c != '\\'; }

}  // namespace

std::optional<std::size_t> json_string_size(std::string_view bytes) {
  std::size_t out = 2;
  for (std::size_t i = 0; i < bytes.size();) {
    const char c = bytes[i];
    if (!is_ascii(c)) {
      const auto next = base::first_character(bytes.substr(i));
      if (next.size == 0) return std::nullopt;
      out += next.size;
      i += next.size;
      continue;
    }
    out += is_plain(c) ? 1 : short_escape(c) != 0 ? 2 : long_escape;
    ++i;
  }
  return out;
}

void append_json_string(std::string& out, std::string_view utf8) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  std::size_t written = 0;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char c = utf8[i];
    if (is_plain(c)) continue;
    out += utf8.substr(written, i - written);
    written = i + 1;
    out += '\\';
    if (const char letter = short_escape(c); letter != 0) {
      out += letter;
      continue;
    }
    out += "u00";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  out += utf8.substr(written);
  out += '"';
}

}  // namespace onceguard::serve
