// Messages of the Model Context Protocol, which are JSON-RPC 2.0: as much of them as the guard must
// know. Revisions 2025-11-25 and 2026-07-28.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::mcp {

enum class message_kind : std::uint8_t {
  request,
  notification,
  response,
  batch,      ///< an array of messages, which both revisions have abolished
  malformed,  ///< no JSON, although a lenient reader may find a message in it
  other,      ///< no message
};

/// A message. The views are into the text that was read.
struct message {
  message_kind kind = message_kind::other;
  std::string_view id;  ///< as written; empty: none
  std::string method;   ///< request, notification
  std::string_view params;
  std::string_view result;  ///< response
  std::string_view error;   ///< response
  bool ambiguous = false;   ///< a member stands there twice
};

[[nodiscard]] message read_message(std::string_view text);

/// A message of the client that must not reach the server, because the server might read in it
/// another one than the guard does: the response to it. Empty: it may.
[[nodiscard]] std::string refusal_of(const message& given);

/// A request `tools/call`.
struct tool_call {
  std::string name;
  std::string_view arguments;  ///< as written; empty: none
  std::string key;             ///< the idempotency key; empty: none
  bool key_is_argument = false;
  std::string fault;  ///< what is wrong with the call or its key, for people; empty: nothing
  /// The request names the revision 2026-07-28 or a later one, whose results have a `resultType`.
  bool has_result_type = false;
};

/// `argument` is the name of the argument with the key; empty: no argument is one.
[[nodiscard]] tool_call read_tool_call(const message& request, std::string_view argument);

/// The request of a call, without the argument.
[[nodiscard]] std::string without_argument(std::string_view text, std::string_view argument);

/// What makes two calls the same: the tool's name, and the arguments in canonical form, without the
/// one with the key.
[[nodiscard]] std::string call_fingerprint(const tool_call& call, std::string_view argument);

/// The id of the request that a notification `notifications/cancelled` is about; empty: it is none.
[[nodiscard]] std::string_view cancelled_id(const message& notification);

/// How a response ends a call.
enum class response_end : std::uint8_t {
  complete,      ///< the tool ran
  tool_error,    ///< the tool ran, and reports an error
  nothing_done,  ///< a fault of the request, or more input is asked for
  unknown,       ///< an error inside the server
};
[[nodiscard]] response_end end_of(const message& response);

/// A response with a result or an error as it is written.
[[nodiscard]] std::string make_response(std::string_view id, std::string_view member,
                                        std::string_view value);

}  // namespace onceguard::mcp
