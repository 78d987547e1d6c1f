// CRC-32, which PayPal signs in the place of a body.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace onceguard::webhook {

/// CRC-32 as ISO 3309, Ethernet and zlib have it. It detects damage, but no attacker.
[[nodiscard]] constexpr std::uint32_t crc32_of(std::string_view bytes) noexcept {
  constexpr auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      std::uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320U : 0);
      out[i] = rest;
    }
    return out;
  }();
  std::uint32_t out = 0xffffffffU;
  for (const char c : bytes) out = table[(out ^ static_cast<unsigned char>(c)) & 0xff] ^ (out >> 8);
  return ~out;
}

}  // namespace onceguard::webhook
