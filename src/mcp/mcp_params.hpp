// How tool calls are guarded.
#pragma once
#include <map>
#include <string>

#include <onceguard/policy.hpp>

#include "mcp/key_locations.hpp"
#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

struct mcp_params {
  /// Whom the keys belong to: a name that the operator gives. The words that start the server are
  /// none, as they may be written in several ways.
  std::string scope = "mcp";
  key_locations locations = preset("default");
  /// Which calls must have a key.
  key_rule required = key_rule::optional;
  /// Not zero: a call without a key is the same as one with the same contents within this time.
  milliseconds window{0};
  std::map<std::string, milliseconds> windows;  ///< of single tools
  /// lease, retention, on_busy, wait, unknown, backoff and backoff_max count.
  route_policy policy;
  /// What the error of a tool means (`isError`).
  settle_kind tool_error = settle_kind::complete;
  /// How long a call that the client gave up may still get its result.
  milliseconds linger{60'000};
  /// Whether a cancellation of a guarded call goes to the server, which may then answer nothing.
  bool pass_cancellations = false;

  [[nodiscard]] milliseconds window_of(const std::string& tool) const {
    const auto found = windows.find(tool);
    return found == windows.end() ? window : found->second;
  }
};

}  // namespace onceguard::mcp
