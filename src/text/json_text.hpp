// Text for output as JSON: logs and `--json`.
#pragma once
#include <string>
#include <string_view>

#include "base/time_text.hpp"

namespace onceguard {

/// `text` as a quoted JSON string. Invalid UTF-8 becomes U+FFFD. With `ascii`, everything except
/// printable ASCII is escaped, so that no terminal acts on it.
[[nodiscard]] std::string json_string(std::string_view text, bool ascii = false);

[[nodiscard]] bool is_utf8(std::string_view text);

using base::time_text;

}  // namespace onceguard
