#include "base/utf8.hpp"

namespace onceguard::base {

code_point first_character(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t value = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3fU);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, size};
}

void append_character(std::string& out, char32_t value) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (value < 0x80) return put(value);
  if (value < 0x800) {
    put(0xc0 | value >> 6);
  } else {
    if (value < 0x10000) {
      put(0xe0 | value >> 12);
    } else {
      put(0xf0 | value >> 18);
      put(0x80 | (value >> 12 & 0x3f));
    }
    put(0x80 | (value >> 6 & 0x3f));
  }
  put(0x80 | (value & 0x3f));
}

}  // namespace onceguard::base
