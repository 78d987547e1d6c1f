// Writes the head of a request to the upstream.
#pragma once
#include <string>

#include "gateway/params/gateway_params.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

/// Appends the request line and the client's fields that may be forwarded, without the fields that
/// only Onceguard may set, and with renewed forwarding fields. Appends no framing and no end of the
/// head.
void append_upstream_head(std::string& out, const http1::head& request,
                          const upstream_params& upstream, const http::travel_filter& filter,
                          std::string_view peer, bool peer_trusted, bool keep_expect);

}  // namespace onceguard::gateway
