// Checksums by xxHash, which detect accidental damage.
#pragma once
#include <cstdint>
#include <string_view>

namespace onceguard::base {

/// XXH3 of 64 bits with seed 0 (https://xxhash.com): the same on every machine. Detects accidental
/// damage only: an attacker can make another text with the same checksum. Thread-safe.
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes) noexcept;

}  // namespace onceguard::base
