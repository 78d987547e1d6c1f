#include "messaging/sqs/body_text.hpp"

#include <optional>

namespace onceguard::messaging::sqs {
namespace {

/// The character at the begin of the text, which is then cut off; nullopt: that is none.
std::optional<char32_t> next_character(std::string_view& text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  std::size_t size = 1;
  char32_t out = first;
  char32_t smallest = 0;
  if (first >= 0x80) {
    if ((first & 0xe0) == 0xc0) {
      size = 2, out = first & 0x1f, smallest = 0x80;
    } else if ((first & 0xf0) == 0xe0) {
      size = 3, out = first & 0x0f, smallest = 0x800;
    } else if ((first & 0xf8) == 0xf0) {
      size = 4, out = first & 0x07, smallest = 0x10000;
    } else {
      return std::nullopt;
    }
  }
  if (text.size() < size) return std::nullopt;
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    out = out << 6 | (next & 0x3f);
  }
  if (out < smallest) return std::nullopt;
  text.remove_prefix(size);
  return out;
}

bool is_xml_character(char32_t c) noexcept {
  return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c <= 0xd7ff) ||
         (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

}  // namespace

bool is_plain_text(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto next = next_character(bytes);
    if (!next || !is_xml_character(*next)) return false;
  }
  return true;
}

}  // namespace onceguard::messaging::sqs
