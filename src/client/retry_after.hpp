// The value of Retry-After (RFC 9110, section 10.2.3).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include <onceguard/record.hpp>

namespace onceguard::client {
inline namespace v1 {

/// Seconds, or a date in one of the three forms of RFC 9110, as a time from now on: never negative,
/// at most a year. Nothing for other texts.
[[nodiscard]] std::optional<milliseconds> retry_after(std::string_view text, std::int64_t wall_ms);

}  // namespace v1
}  // namespace onceguard::client
