// A point in time as text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace onceguard::base {

/// Milliseconds since 1970 as "2026-01-31T12:00:00.250Z"; empty for 0.
[[nodiscard]] std::string time_text(std::int64_t wall_ms);
/// What time_text() wrote; none: any other text.
[[nodiscard]] std::optional<std::int64_t> parse_time(const std::string& text);

}  // namespace onceguard::base
