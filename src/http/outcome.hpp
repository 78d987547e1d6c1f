// Decides how an upstream's answer ends a lease, and which parts of the answer are stored.
#pragma once
#include <cstdint>
#include <span>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// Selects the fields of an answer that are stored and replayed: all forwarded fields except Date
/// (sent anew), Set-Cookie unless `keep_set_cookie`, and marks of a replay.
void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out);

/// Sets kind, reason and times of the settle after a complete answer with this status and these
/// fields. A 503 from Envoy itself is unknown, unless the route has a rule for 503: Envoy also
/// sends 503 when the connection broke after the request was sent.
void settle_by_status(const route_policy& policy, std::uint16_t status,
                      std::span<const base::field> fields, settle_terms& out);

}  // namespace onceguard::http
