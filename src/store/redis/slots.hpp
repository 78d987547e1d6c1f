// How a Redis Cluster finds the place of a name: CRC16 of it, or of what stands in its first
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

/// For each of `parts` equal stretches of the slots (a power of two) the smallest number whose
/// slot is the one in its middle: names with "{number}" in them live there.
[[nodiscard]] std::vector<std::string> evenly_spread_tags(std::size_t parts);

}  // namespace onceguard::redis
