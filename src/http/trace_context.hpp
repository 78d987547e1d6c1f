// W3C Trace Context (https://www.w3.org/TR/trace-context/): the trace that a request belongs to.
#pragma once
#include <span>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http {

/// The trace id of `traceparent`, 32 lower-case hex digits, as a view into the field. Empty if the
/// field is missing, repeated or malformed.
[[nodiscard]] std::string_view find_trace_id(std::span<const base::field> fields) noexcept;

}  // namespace onceguard::http
