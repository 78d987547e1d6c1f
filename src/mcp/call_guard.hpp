// Tool calls that run once per key, whatever transport they came on.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include <onceguard/guard.hpp>

#include "mcp/answer_form.hpp"
#include "mcp/mcp_params.hpp"
#include "mcp/message.hpp"
#include "mcp/tool_call.hpp"
#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

/// A call that is on its way to the server, under its lease.
struct running_call {
  lease_handle lease;
  std::string key;
  answer_form form{};
  std::string tool{};     ///< its name
  bool is_listed = true;  ///< false: the server's whole list has no such tool
  milliseconds retention{0};
};

/// What is known of a call beside its message.
struct call_context {
  const tool_hints* hints = nullptr;  ///< null: the list that is known does not have the tool
  bool list_is_whole = false;
  std::string caller{};        ///< tells callers apart, where the transport can
  std::string caller_marks{};  ///< of a caller without a name: what may be a mark of it
  std::optional<std::string> transport_key{};  ///< a key beside the message
  std::string key_fault{};                     ///< why that key is none
  std::string scope_fault{};                   ///< why nobody can say whose the key is
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
  /// Claims. `text` is the request as it came. On an io_context of one thread.
  [[nodiscard]] boost::asio::awaitable<admission> admit(std::string text, call_context known);
  /// The server has answered: settles, and returns the response for the client.
  [[nodiscard]] boost::asio::awaitable<std::string> finish(running_call call, std::string response);
  /// The call never went to the server.
  [[nodiscard]] boost::asio::awaitable<void> release(running_call call);
  /// No answer comes any more. Returns the response for the client, whose request has this id.
  [[nodiscard]] boost::asio::awaitable<std::string> give_up(running_call call, std::string id,
                                                            unknown_reason why);

 private:
  /// What of a call its answer needs.
  struct answered_call {
    answered_call(std::string its_key, answer_form its_form)
        : key(std::move(its_key)), form(std::move(its_form)) {}
    std::string key;
    answer_form form;
  };
  [[nodiscard]] std::string answer_to(const outcome& got, std::string_view id,
                                      const answered_call& call) const;
  [[nodiscard]] const route_policy& policy_of(milliseconds window, bool rerun) const;
  [[nodiscard]] std::string location_of_key() const;

  guard& records_;
  const mcp_params params_;
  /// By the window of calls whose contents are their key (zero: of calls with a key), and whether
  /// the tool may be called again when the outcome is unknown. A claim's policy outlives its lease.
  std::map<std::pair<milliseconds, bool>, route_policy> policies_;
};

}  // namespace onceguard::mcp
