// UUIDs of version 7.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace onceguard::client {
inline namespace v1 {

/// The UUID of RFC 9562, section 5.7: 48 bits of time, 74 random ones. Pure.
[[nodiscard]] std::string uuid_v7(std::int64_t wall_ms, std::span<const unsigned char, 10> random);

}  // namespace v1
}  // namespace onceguard::client
