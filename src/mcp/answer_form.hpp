// The form of answers to a call that are not the server's own: repeats, from what records keep of
// the first ones, and refusals.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "mcp/message.hpp"
#include "mcp/refused_call.hpp"
#include "mcp/tool_call.hpp"

namespace onceguard::mcp {

struct answer_form {
  bool has_result_type = false;  ///< of results of our own
  bool is_tool = true;           ///< false: of another method
  /// Of the Ad Context Protocol: the object `context` of this request, as it is written, or an
  /// empty text.
  std::optional<std::string> adcp_context{};
  bool acp_errors = false;  ///< as the Agentic Commerce Protocol has them
  bool ucp_errors = false;  ///< as the Universal Commerce Protocol has them
  bool unpaid = false;      ///< x402: what asks for a payment has run nothing
};

[[nodiscard]] answer_form form_of(const tool_call& call, const key_locations& locations);

/// A result that is given again, with the marks that say so. What is no object stays as it is.
[[nodiscard]] std::string repeated_result(const std::string& result, const answer_form& form);

/// The same of an error.
[[nodiscard]] std::string repeated_error(const std::string& error);

/// What a record keeps of a response to a call.
[[nodiscard]] answer_ptr stored_response(const message& response);
/// The response to a repeat, as the record has it; empty: the record's answer is none of a call.
[[nodiscard]] std::string replayed_response(const answer& kept, std::string_view id,
                                            const answer_form& form);

/// The response to a call that is refused.
[[nodiscard]] std::string refusal_response(const refused_call& refused, std::string_view id,
                                           const answer_form& form);

}  // namespace onceguard::mcp
