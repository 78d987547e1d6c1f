// Errors as the Universal Commerce Protocol has them: what keeps a request from being processed is
// an error of JSON-RPC over MCP, with a code and its words in `data`.
#pragma once
#include <string>

#include "mcp/refused_call.hpp"

namespace onceguard::mcp {

/// The error of a refused call.
[[nodiscard]] std::string ucp_refusal(const refused_call& refused);

}  // namespace onceguard::mcp
