#include "messaging/sqs/body_text.hpp"

#include <algorithm>

#include <openssl/evp.h>

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

std::string to_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with a NUL of OpenSSL's
  const auto size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(bytes.data()),
                                    static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto padding = static_cast<std::size_t>(
      std::count(text.end() - std::min<long>(2, std::ssize(text)), text.end(), '='));
  // OpenSSL passes over space around it.
  const bool good = std::all_of(text.begin(), text.end() - static_cast<long>(padding), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
  if (!good) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const auto size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace onceguard::messaging::sqs
