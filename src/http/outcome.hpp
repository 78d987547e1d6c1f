// What an upstream's answer means for the record, and what of it is kept.
#pragma once
#include <cstdint>
#include <span>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// Which of an answer's fields are stored and replayed: what travels, but no Date (sent fresh)
/// and no Set-Cookie unless asked for.
void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out);

/// Fills in how a lease ends after a whole answer of this status: kind, reason, times.
void settle_by_status(const route_policy& policy, std::uint16_t status, settlement& out);

}  // namespace onceguard::http
