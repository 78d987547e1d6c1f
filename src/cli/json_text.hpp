// JSON on its way out: for logs and for `--json`.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::cli {

/// The text as a JSON string in quotes. What is not UTF-8 becomes U+FFFD. With `ascii`, all else
/// than printable ASCII is escaped, so that no terminal acts upon it.
[[nodiscard]] std::string json_string(std::string_view text, bool ascii = false);

/// Fit for a terminal: as it is where it is one plain word, else as json_string with `ascii`.
[[nodiscard]] std::string plain_text(std::string_view text);

/// UTF-8 text of several lines with `?` in the place of control characters.
[[nodiscard]] std::string terminal_text(std::string_view utf8);

[[nodiscard]] bool is_utf8(std::string_view text);
[[nodiscard]] std::string base64(std::string_view bytes);
/// The reverse; none: it is not what `base64` makes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// Milliseconds since 1970 as "2026-01-31T12:00:00.250Z"; empty for 0.
[[nodiscard]] std::string time_text(long long wall_ms);

}  // namespace onceguard::cli
