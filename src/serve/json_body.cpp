#include "serve/json_body.hpp"

#include "base/utf8.hpp"

namespace onceguard::serve {
namespace {

bool has_short_escape(char c) {
  return std::string_view("\"\\\b\f\n\r\t").find(c) != std::string_view::npos;
}

constexpr std::size_t long_escape = 6;  // \u001f

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

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
    out += has_short_escape(c) ? 2 : is_control(c) ? long_escape : 1;
    ++i;
  }
  return out;
}

}  // namespace onceguard::serve
