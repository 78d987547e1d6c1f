// Results as the Ad Context Protocol has them. They stand in `structuredContent`, and for clients
// that read no other in the first text of `content`.
#pragma once
#include <string>
#include <string_view>

#include "mcp/refused_call.hpp"

namespace onceguard::mcp {

/// A result that is given again: `replayed` says so, unless it is an error, and `context` is that
/// of this request (empty: it has none).
[[nodiscard]] std::string adcp_repeat(const std::string& result, std::string_view context);

/// Our result for a refused call, with the protocol's error in it. What the key's call asked for,
/// or was answered, does not stand there: a key may be stolen.
[[nodiscard]] std::string adcp_refusal(const std::string& result, const refused_call& refused,
                                       std::string_view context);

}  // namespace onceguard::mcp
