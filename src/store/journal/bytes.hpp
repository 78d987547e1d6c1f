// Numbers as little-endian bytes.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace onceguard::journal {

/// On most machines the bytes of the number as they are.
template <std::size_t N>
void make_little_endian(std::array<char, N>& bytes) {
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
}

template <std::integral T>
void put(std::string& target, T value) {
  auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
  make_little_endian(bytes);
  target.append(bytes.data(), bytes.size());
}

/// Takes the number from the front of `from`, which must be long enough.
template <std::integral T>
[[nodiscard]] T take(std::string_view& source) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), source.data(), bytes.size());
  make_little_endian(bytes);
  source.remove_prefix(bytes.size());
  return std::bit_cast<T>(bytes);
}

}  // namespace onceguard::journal
