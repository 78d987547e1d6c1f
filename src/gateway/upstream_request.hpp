// The head of a request as it goes upstream.
#pragma once
#include <string>

#include "gateway/params.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

/// Appends request line and the client's fields: what travels, without what only Onceguard may
/// set, with the forwarding fields renewed. No framing, no end of head.
void append_upstream_head(std::string& out, const http1::head& request,
                          const upstream_params& upstream, const http::travel_filter& filter,
                          std::string_view peer, bool peer_trusted, bool keep_expect);

}  // namespace onceguard::gateway
