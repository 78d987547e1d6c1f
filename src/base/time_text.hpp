// A point in time as text.
#pragma once
#include <cstdint>
#include <string>

namespace onceguard::base {

/// Milliseconds since 1970 as "2026-01-31T12:00:00.250Z"; empty for 0.
[[nodiscard]] std::string time_text(std::int64_t wall_ms);

}  // namespace onceguard::base
