// Results of x402 that ask for a payment.
#pragma once
#include <string_view>

namespace onceguard::mcp {

/// Whether a tool's error says what a call costs, in any of the forms that clients must read.
[[nodiscard]] bool asks_for_payment(std::string_view result);

}  // namespace onceguard::mcp
