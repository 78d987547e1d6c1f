// Writes the heads of requests to upstreams, and of answers to clients.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

#include "base/field.hpp"
#include "gateway/params/gateway_params.hpp"
#include "http/forwarded_fields.hpp"
#include "http/trace_context.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

// ---- requests

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

// ---- answers

/// Whether the connection is kept after an answer.
enum class after_answer : std::uint8_t { keep, close };

struct answer_style {
  bool replayed = false;  ///< Idempotent-Replayed: true
  after_answer then = after_answer::keep;
  std::uint8_t client_minor = 1;  ///< an HTTP/1.0 client gets Connection: keep-alive
};

/// Fields of the first answer that are not stored: Date and Set-Cookie.
using extra_fields = std::vector<std::pair<std::string, std::string>>;

/// Appends the complete head of a whole answer, framed with Content-Length.
void append_answer_head(std::string& out, const answer& answer, const answer_style& style,
                        const extra_fields& extra = {});

/// Appends the Connection field, for answers whose framing is written elsewhere.
void append_connection(std::string& out, const answer_style& style);
/// Appends the end of a chunked body, with the trailer fields that may be forwarded. `filter` is
/// that of the message's head.
void append_last_chunk(std::string& out, std::span<const base::field> trailers,
                       const http::travel_filter& filter);
void append_date_now(std::string& out);

/// Whether an answer of this status may have a body.
[[nodiscard]] constexpr bool may_have_body(std::uint16_t status) noexcept {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace onceguard::gateway
