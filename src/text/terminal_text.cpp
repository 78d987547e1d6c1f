#include "text/terminal_text.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "text/json_text.hpp"

namespace onceguard {
namespace {

/// What a terminal acts on, or what shows other than as it stands: control characters, and those
/// that turn the direction of a text, break its line or show nothing (Unicode's Cc, Cf, Zl and Zp,
/// as far as they do that).
bool is_deceptive(char32_t c) noexcept {
  if (c < 0x20) return c != '\n' && c != '\t';
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return within(0x7f, 0x9f) || c == 0xad || c == 0x61c || c == 0x180e || within(0x200b, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || c == 0xfeff ||
         within(0xfff9, 0xfffb) || within(0xe0000, 0xe007f);
}

}  // namespace

std::string plain_text(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '=';
  });
  return plain ? std::string(text) : json_string(text, true);
}

std::string terminal_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto next = base::first_character(text);
    if (next.size == 0 || is_deceptive(next.value)) {
      out += '?';
    } else {
      out += text.substr(0, next.size);
    }
    text.remove_prefix(std::max<std::size_t>(next.size, 1));
  }
  return out;
}

}  // namespace onceguard
