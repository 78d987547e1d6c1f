// JSON numbers: read as doubles, and only where that keeps distinct numbers apart; written as
// ECMAScript writes them (RFC 8785 section 3.2.2.3).
#pragma once
#include <string>

#include "json/cursor.hpp"

namespace onceguard::core {

/// Reads the number at the cursor into its nearest double. Refused, beside what is no number:
/// - more than 17 significant digits (zeros at either end don't count);
/// - what a double can't hold: too large, or not zero and too near to it;
/// - an integer beyond 2^53, also in another notation where its canonical form would be such an
///   integer (1e20, as ECMAScript writes it out; 1e21 and above stay in their notation).
[[nodiscard]] bool read_json_number(json_cursor& cursor, double& value) noexcept;

/// Appends the canonical form of a finite number; -0 is 0.
void append_json_number(std::string& out, double value);

}  // namespace onceguard::core
