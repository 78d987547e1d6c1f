// What an upstream's answer means for the record, and what of it is kept.
#pragma once
#include <cstdint>
#include <span>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// Which of an answer's fields are stored and replayed: what travels, but no Date (sent fresh), no
/// Set-Cookie unless asked for, and no mark of a replay.
void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out);

/// Fills in how a lease ends after a whole answer of this status, with these fields: kind, reason,
/// times. A 503 of Envoy's own says nothing, as it also comes when the request had been sent and
/// the connection broke then; so it is unknown, unless the route itself says what a 503 means.
void settle_by_status(const route_policy& policy, std::uint16_t status,
                      std::span<const base::field> fields, settle_terms& out);

}  // namespace onceguard::http
