// Durations and sizes as people write them. A parser returns the value, or errc::invalid_argument
// with a detail of what was expected and what was found.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::base {

/// The text in quotes, truncated to 80 bytes, with control and non-ASCII bytes as \xNN: safe to
/// print.
[[nodiscard]] std::string quoted(std::string_view text);

/// An id or key for a log or an error: one that is longer than a key may be is cut, and its length
/// is named.
[[nodiscard]] std::string shown_id(std::string_view id);

/// "250ms", "30s", "1m", "24h", "7d": whole numbers with one unit.
[[nodiscard]] result<milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(milliseconds value);

/// "512", "64KiB", "1MiB", "2GiB": bytes.
[[nodiscard]] result<std::int64_t> parse_size(std::string_view text);
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace onceguard::base
