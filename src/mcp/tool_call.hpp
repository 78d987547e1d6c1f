// A call of a tool: its name, its arguments and its key.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "mcp/key_locations.hpp"
#include "mcp/message.hpp"

namespace onceguard::mcp {

/// A request `tools/call`, or of another method that is a call.
struct tool_call {
  std::string name;            ///< of the tool; of another method the method
  std::string_view arguments;  ///< as written; empty: none
  std::string key;             ///< the idempotency key; empty: none
  bool key_is_argument = false;
  std::string fault;  ///< what is wrong with the call or its key, for people; empty: nothing
  /// The request names the revision 2026-07-28 or a later one, whose results have a `resultType`.
  bool has_result_type = false;
  bool has_payment = false;       ///< of x402
  bool is_tool = true;            ///< false: of another method
  std::vector<omission> omitted;  ///< what may differ between two tries, the keys among it
  /// What may differ, too, where the tool itself has the argument that has the key: only then is
  /// its contract that of the argument.
  std::vector<omission> omitted_by_own{};
};

/// Whether the request is a call.
[[nodiscard]] bool is_call(const message& request, const key_locations& locations);

/// `transport_key` is a key that stood beside the message, as the transport has it.
[[nodiscard]] tool_call read_tool_call(const message& request, const key_locations& locations,
                                       const std::optional<std::string>& transport_key = {});

/// The request of a call, without the argument with the key.
[[nodiscard]] std::string without_argument(std::string_view text, const std::string& argument);

/// What makes two calls the same: the name, and the arguments in canonical form, without those that
/// may differ. `tool_has_argument`: the tool itself has the argument with
/// the key.
[[nodiscard]] std::string call_fingerprint(const tool_call& call, bool tool_has_argument);

}  // namespace onceguard::mcp
