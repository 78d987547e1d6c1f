// Writes the head of a request to the upstream.
#pragma once
#include <string>
#include <string_view>

#include "gateway/params/gateway_params.hpp"
#include "http/forwarding.hpp"
#include "http/trace_context.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

/// What this proxy adds to a request.
struct proxy_hop {
  std::string_view peer;  ///< the address of the client's side of the connection
  bool peer_trusted = false;
  std::string_view loop_mark;                  ///< this process in CDN-Loop (RFC 8586)
  const http::request_trace* trace = nullptr;  ///< null: the client's trace passes through
  bool secure = false;                         ///< the client speaks TLS
};

/// Appends the request line and the client's fields that may be forwarded, without the fields that
/// only Onceguard may set, and with renewed forwarding fields. Appends no framing and no end of the
/// head.
void append_upstream_head(std::string& out, const http1::head& request,
                          const upstream_params& upstream, const http::travel_filter& filter,
                          const proxy_hop& hop, bool keep_expect);

}  // namespace onceguard::gateway
