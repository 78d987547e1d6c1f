#include "base/hex.hpp"

#include <algorithm>
#include <array>

namespace onceguard::base {

void append_hex(std::string& out, std::span<const unsigned char> bytes) {
  static constexpr auto pairs = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = {digits[i >> 4], digits[i & 15]};
    return made;
  }();
  const auto position = out.size();
  out.resize(position + 2 * bytes.size());
  char* target = out.data() + position;
  for (const auto byte : bytes) target = std::copy_n(pairs[byte].data(), 2, target);
}

std::string digest_text(std::span<const unsigned char> digest) {
  constexpr std::size_t shown = 6;
  return to_hex(digest.first(std::min(shown, digest.size())));
}

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

bool from_hex(std::string_view text, std::span<unsigned char> out) noexcept {
  if (text.size() != out.size() * 2) return false;
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

}  // namespace onceguard::base
