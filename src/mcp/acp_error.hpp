// Errors as the Agentic Commerce Protocol has them: over MCP they are errors of JSON-RPC, whose
// `data` says what happened.
#pragma once
#include <string>

#include "mcp/message.hpp"
#include "mcp/refused_call.hpp"

namespace onceguard::mcp {

/// The error of a refused call.
[[nodiscard]] std::string acp_refusal(const refused_call& refused);

/// Whether a response is the shop's own error about the request: an answer as any other, while a
/// fault of processing may come after the effect.
[[nodiscard]] bool is_acp_answer(const message& response);

}  // namespace onceguard::mcp
