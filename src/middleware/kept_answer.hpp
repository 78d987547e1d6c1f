// The answer of a handler, as its record keeps it.
#pragma once
#include <onceguard/http_message.hpp>
#include <onceguard/policy.hpp>

namespace onceguard::http {
inline namespace v1 {

/// What a record keeps of an answer. Left out is what no message can carry: fields with control
/// characters or malformed names, the body of a 204 or 304.
[[nodiscard]] answer answer_to_keep(const answer_view& made, const route_policy& policy);

}  // namespace v1
}  // namespace onceguard::http
