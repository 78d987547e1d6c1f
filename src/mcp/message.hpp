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

/// A message of the client. One that is no JSON is malformed.
[[nodiscard]] message read_message(std::string_view text);
/// A message of the server, which the client gets as it is: whatever some reader may understand is
/// read, with NaN, bytes that are no UTF-8, or members that stand there twice.
[[nodiscard]] message read_answer(std::string_view text);

/// What an id is, however it is written: equal for 1, 1.0 and 1e0, and for "a/b" and "a\/b".
[[nodiscard]] std::string id_value(std::string_view id);

/// A message of the client that must not reach the server, because the server might read in it
/// another one than the guard does: the response to it. Empty: it may.
[[nodiscard]] std::string refusal_of(const message& given);

/// The id of the request that a notification `notifications/cancelled` is about; empty: it is none.
[[nodiscard]] std::string_view cancelled_id(const message& notification);

/// How a response ends a call.
enum class response_end : std::uint8_t {
  complete,      ///< the tool ran
  tool_error,    ///< the tool ran, and reports an error
  more_input,    ///< the client calls again, with what is asked for
  refused_call,  ///< an error that servers answer who know no such tool, and that tools answer too
  unknown,       ///< any other error, whose sender may have acted before
};
[[nodiscard]] response_end end_of(const message& response);

/// A response with a result or an error as it is written.
[[nodiscard]] std::string make_response(std::string_view id, std::string_view member,
                                        std::string_view value);

}  // namespace onceguard::mcp
