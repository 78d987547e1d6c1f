#include "client/uuid.hpp"

#include <algorithm>
#include <array>

#include <onceguard/client.hpp>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"

namespace onceguard::client {
inline namespace v1 {

std::string uuid_v7(std::int64_t wall_ms, std::span<const unsigned char, 10> random) {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < 6; ++i) {
    bytes[i] = static_cast<unsigned char>(wall_ms >> (40 - 8 * i));
  }
  std::ranges::copy(random, bytes.begin() + 6);
  bytes[6] = static_cast<unsigned char>(0x70 | (bytes[6] & 0x0f));  // the version
  bytes[8] = static_cast<unsigned char>(0x80 | (bytes[8] & 0x3f));  // the variant
  auto text = base::to_hex(bytes);
  for (const std::size_t hyphen : {8u, 13u, 18u, 23u}) text.insert(hyphen, 1, '-');
  return text;
}

std::string make_key() {
  std::array<unsigned char, 10> random{};
  base::random_bytes(random);
  return uuid_v7(base::system_clock().wall_ms(), random);
}

}  // namespace v1
}  // namespace onceguard::client
