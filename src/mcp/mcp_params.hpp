// How tool calls are guarded.
#pragma once
#include <string>

#include <onceguard/policy.hpp>

#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

struct mcp_params {
  /// Whom the keys belong to: the server, unless the operator says otherwise.
  std::string scope;
  /// The argument with the key; empty: none is.
  std::string argument = "idempotency_key";
  /// Which calls must have a key.
  key_rule required = key_rule::optional;
  /// Not zero: a call without a key is the same as one with the same contents within this time.
  milliseconds window{0};
  /// lease, retention, on_busy, wait, unknown, backoff and backoff_max count.
  route_policy policy;
  /// What the error of a tool means (`isError`).
  settle_kind tool_error = settle_kind::complete;
  /// How long a call that the client gave up may still get its result.
  milliseconds linger{60'000};
};

}  // namespace onceguard::mcp
