// How a Redis Cluster finds the slot of a name: CRC16 of the name, or of the text in its first
// braces, modulo 16384.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::redis {

inline constexpr std::size_t slot_count = 16'384;

[[nodiscard]] std::uint16_t slot_of(std::string_view name) noexcept;

/// For each of `parts` equal ranges of slots (a power of two), the smallest number whose slot is in
/// the middle of the range: names with "{number}" in them have that slot.
[[nodiscard]] std::vector<std::string> evenly_spread_tags(std::size_t parts);

}  // namespace onceguard::redis
