// Numbers as little-endian bytes.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace onceguard::journal {

template <std::integral T>
void put(std::string& target, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    target += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
}

/// Takes the number from the front of `from`, which must be long enough.
template <std::integral T>
[[nodiscard]] T take(std::string_view& source) {
  std::uint64_t out = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) out = out << 8 | static_cast<unsigned char>(source[i]);
  source.remove_prefix(sizeof(T));
  return static_cast<T>(out);
}

}  // namespace onceguard::journal
