#include "gateway/message_heads.hpp"

#include "base/address.hpp"
#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/field.hpp"
#include "http/forwarded_fields.hpp"
#include "http/request_loop.hpp"
#include "http/request_target.hpp"

namespace onceguard::gateway {

void append_upstream_head(std::string& out, const http1::head& request,
                          const upstream_params& upstream, const http::travel_filter& filter,
                          const proxy_hop& hop, bool keep_expect) {
  const auto parts = http::split_target(request.target);
  if (http::concerns_whole_server(request.method, request.target)) {
    http1::append_request_line(out, request.method, "*");
  } else if (upstream.base_path.empty() && request.target.starts_with('/')) {
    http1::append_request_line(out, request.method, request.target);
  } else {
    std::string target = upstream.base_path;
    target += parts.path;
    if (parts.query) target.append("?").append(*parts.query);
    http1::append_request_line(out, request.method, target);
  }
  bool has_forwarded = false;
  // HTTP/1.0 needs no Host, but the request to the upstream is HTTP/1.1.
  if (base::find_field(request.fields, "host") == nullptr) {
    http1::append_field(out, "Host", authority_of(upstream.address));
  }
  for (const auto& f : request.fields) {
    if (http::is_forwarded_field(f.name)) {
      has_forwarded = true;
      continue;
    }
    if (!filter.travels(f.name)) continue;
    if (!keep_expect && base::iequals(f.name, "expect")) continue;
    if (hop.trace != nullptr && http::replaced_by(*hop.trace, f.name)) continue;
    http1::append_field(out, f.name, f.value);
  }
  const auto forwarded =
      http::make_forwarded(hop.peer, hop.peer_trusted && has_forwarded, request.fields, hop.secure);
  http1::append_field(out, "X-Forwarded-For", forwarded.forwarded_for);
  http1::append_field(out, "X-Forwarded-Proto", forwarded.proto);
  if (!forwarded.host.empty()) http1::append_field(out, "X-Forwarded-Host", forwarded.host);
  http1::append_field(out, "Forwarded", forwarded.forwarded);
  http1::append_field(out, http::via_field, http::via_element(request.minor));
  http1::append_field(out, http::loop_field, hop.loop_mark);
  if (hop.trace != nullptr) {
    http1::append_field(out, http::trace_parent_field, hop.trace->parent_field());
  }
}

void append_date_now(std::string& out) {
  http1::append_date(out, base::system_clock().wall_ms() / 1000);
}

void append_last_chunk(std::string& out, std::span<const base::field> trailers,
                       const http::travel_filter& filter) {
  out += "0\r\n";
  for (const auto& f : trailers) {
    if (http::may_trail(f.name) && filter.travels(f.name))
      http1::append_field(out, f.name, f.value);
  }
  http1::append_end_of_head(out);
}

void append_connection(std::string& out, const answer_style& style) {
  if (style.then == after_answer::close) {
    http1::append_field(out, "Connection", "close");
  } else if (style.client_minor == 0) {
    http1::append_field(out, "Connection", "keep-alive");
  }
}

void append_answer_head(std::string& out, const answer& answer, const answer_style& style,
                        const extra_fields& extra) {
  http1::append_status_line(out, answer.status);
  for (const auto& [name, value] : answer.headers) {
    // A record can contain this field if an older version wrote the record, or the application or
    // an operator did.
    if (!http::ends_here(name)) http1::append_field(out, name, value);
  }
  bool dated = false;
  for (const auto& [name, value] : extra) {
    http1::append_field(out, name, value);
    dated = dated || base::iequals(name, "date");
  }
  if (!dated) append_date_now(out);
  if (style.replayed) http1::append_field(out, "Idempotent-Replayed", "true");
  if (may_have_body(answer.status)) http1::append_content_length(out, answer.body.size());
  append_connection(out, style);
  http1::append_end_of_head(out);
}

}  // namespace onceguard::gateway
