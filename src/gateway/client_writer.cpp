#include "gateway/client_writer.hpp"

#include "base/clock.hpp"
#include "base/field.hpp"
#include "http/forwarding.hpp"

namespace onceguard::gateway {

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
