// Writes the bytes of answers to clients.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

#include "base/field.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

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
