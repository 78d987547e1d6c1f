// W3C Trace Context (https://www.w3.org/TR/trace-context/): the trace and span that a request comes
// from, and those that it gets here.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http {

using trace_id = std::array<unsigned char, 16>;
using span_id = std::array<unsigned char, 8>;

inline constexpr std::string_view trace_parent_field = "traceparent";
inline constexpr std::string_view trace_state_field = "tracestate";

struct trace_parent {
  trace_id trace{};
  span_id span{};
  bool sampled = false;
};

/// The trace id of `traceparent`, 32 lower-case hex digits, as a view into the field. Empty if the
/// field is missing, repeated or malformed.
[[nodiscard]] std::string_view find_trace_id(std::span<const base::field> fields) noexcept;

/// Reads the field `traceparent`. Empty if it is missing, repeated or malformed.
[[nodiscard]] std::optional<trace_parent> find_trace_parent(std::span<const base::field> fields);

/// The spans of one request.
struct request_trace {
  trace_id trace{};
  span_id parent{};  ///< the client's span, if `continued`
  span_id server{};
  span_id upstream{};
  bool continued = false;       ///< the request belongs to a trace of its client
  bool sampled = false;         ///< spans are sent
  std::int64_t begin_wall = 0;  ///< microseconds since 1970

  /// The value of `traceparent` for the upstream.
  [[nodiscard]] std::string parent_field() const;
};

/// Whether the client's field does not reach the upstream: its parent is another one now, and the
/// state of a trace that is not continued is nobody's.
[[nodiscard]] bool replaced_by(const request_trace& trace, std::string_view field) noexcept;

}  // namespace onceguard::http
