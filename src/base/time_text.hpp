// A point in time as text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::base {

/// Milliseconds since 1970 as "2026-01-31T12:00:00.250Z"; empty for 0.
[[nodiscard]] std::string time_text(std::int64_t wall_ms);
/// What time_text() wrote; none: any other text.
[[nodiscard]] std::optional<std::int64_t> parse_time(const std::string& text);

/// Seconds since 1970 as IMF-fixdate (RFC 9110 section 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
/// Formatted once a second per thread, and valid until this thread's next call. Empty for a year
/// that has not four digits.
[[nodiscard]] std::string_view http_date(std::int64_t wall_seconds);

}  // namespace onceguard::base
