// JSON numbers. Reading gives doubles and refuses numbers that a double can't keep apart; writing
// follows ECMAScript (RFC 8785 section 3.2.2.3).
#pragma once
#include <string>

#include "json/cursor.hpp"

namespace onceguard::core {

/// Reads the number at the cursor as the nearest double. Refuses malformed numbers and:
/// - more than 17 significant digits (leading and trailing zeros don't count);
/// - numbers outside a double's range: too large, or not zero but too close to zero;
/// - integers beyond 2^53, also in another notation if their canonical form would be such an
///   integer (1e20, which ECMAScript writes out; 1e21 and above keep their exponent).
[[nodiscard]] bool read_json_number(json_cursor& cursor, double& value) noexcept;

/// Appends the canonical form of a finite number. -0 becomes 0.
void append_json_number(std::string& out, double value);

}  // namespace onceguard::core
