#include "store/redis/slots.hpp"

#include <array>

namespace onceguard::redis {
namespace {

constexpr std::uint16_t polynomial = 0x1021;  // CRC-16/XMODEM

constexpr std::array<std::uint16_t, 256> table = [] {
  std::array<std::uint16_t, 256> out{};
  for (unsigned byte = 0; byte < out.size(); ++byte) {
    unsigned sum = byte << 8;
    for (int bit = 0; bit < 8; ++bit) sum = (sum << 1) ^ ((sum & 0x8000) != 0 ? polynomial : 0u);
    out[byte] = static_cast<std::uint16_t>(sum & 0xffff);
  }
  return out;
}();

std::uint16_t crc16(std::string_view text) noexcept {
  unsigned sum = 0;
  for (const char c : text) {
    sum = (sum << 8 & 0xffff) ^ table[(sum >> 8 ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

std::uint16_t slot_of(std::string_view name) noexcept {
  if (const auto open = name.find('{'); open != name.npos) {
    const auto close = name.find('}', open + 1);
    if (close != name.npos && close > open + 1) name = name.substr(open + 1, close - open - 1);
  }
  return crc16(name) % slot_count;
}

std::vector<std::string> evenly_spread_tags(std::size_t parts) {
  const std::size_t stretch = slot_count / parts;
  std::vector<std::string> out(parts);
  std::size_t left = parts;
  for (std::uint32_t number = 0; left > 0; ++number) {
    auto text = std::to_string(number);
    const std::size_t slot = slot_of(text);
    auto& name = out[slot / stretch];
    if (slot % stretch != stretch / 2 || !name.empty()) continue;
    name = std::move(text);
    --left;
  }
  return out;
}

}  // namespace onceguard::redis
