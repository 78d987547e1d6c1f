// Who calls on streamable HTTP, and the key that stands in the request's header.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/policy.hpp>

#include "mcp/http_message.hpp"

namespace onceguard::mcp {

struct http_caller {
  std::string scope;               ///< tells callers apart
  std::string marks;               ///< of an anonymous caller: what else may tell it apart
  std::optional<std::string> key;  ///< of the field Idempotency-Key
  std::string scope_fault;         ///< for people; empty: none
  std::string key_fault;           ///< the same
};

/// By the rules of scope that the gateway has: `policy.scope`, `tokens` and what belongs to them.
[[nodiscard]] http_caller find_caller(const http_request& request, const route_policy& policy,
                                      std::string_view client_address);

}  // namespace onceguard::mcp
