// Tool calls that run once per key, whatever transport they came on.
#pragma once
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/guard.hpp>

#include "mcp/mcp_params.hpp"
#include "mcp/message.hpp"
#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

/// A call that is on its way to the server, under its lease.
struct running_call {
  lease_handle lease;
  std::string key;
  bool by_content = false;       ///< the key was made from the contents
  bool has_result_type = false;  ///< of results of our own
  milliseconds retention{0};
};

/// What becomes of a request `tools/call`.
struct admission {
  /// The message for the server; empty: none goes there.
  std::string forward;
  /// The response for the client, instead.
  std::string response;
  /// Where the call is guarded.
  std::optional<running_call> call;
};

/// Thread-safe.
class call_guard {
 public:
  /// `records` must outlive it.
  call_guard(guard& records, mcp_params params);

  [[nodiscard]] const mcp_params& params() const noexcept { return params_; }

  /// Whether the hints of the tool count for the call: it is to be guarded, if it has a key.
  [[nodiscard]] bool needs_hints(const tool_call& call) const noexcept;
  /// Claims. `text` is the request as it came; `hints` may be null; `caller` tells callers apart,
  /// where the transport can. On an io_context of one thread.
  [[nodiscard]] boost::asio::awaitable<admission> admit(std::string text, const tool_hints* hints,
                                                        std::string caller = {});
  /// The server has answered: settles, and returns the response for the client.
  [[nodiscard]] boost::asio::awaitable<std::string> finish(running_call call, std::string response);
  /// The call never went to the server.
  [[nodiscard]] boost::asio::awaitable<void> release(running_call call);
  /// No answer comes any more. Returns the response for the client, whose request has this id.
  [[nodiscard]] boost::asio::awaitable<std::string> give_up(running_call call, std::string id,
                                                            unknown_reason why);

 private:
  [[nodiscard]] std::string answer_to(const outcome& got, std::string_view id,
                                      const std::string& key, bool has_result_type) const;

  guard& records_;
  const mcp_params params_;
  const route_policy rerun_;    // of tools that may be called again
  const route_policy content_;  // of calls whose contents are their key
  const route_policy content_rerun_;
};

}  // namespace onceguard::mcp
