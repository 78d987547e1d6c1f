#include "http/outcome.hpp"

#include "http/forwarding.hpp"

namespace onceguard::http {

void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out) {
  const travel_filter filter(fields);
  for (const auto& f : fields) {
    if (!filter.travels(f.name) || base::iequals(f.name, "date")) continue;
    if (!keep_set_cookie && base::iequals(f.name, "set-cookie")) continue;
    out.headers.emplace_back(f.name, f.value);
  }
}

void settle_by_status(const route_policy& policy, std::uint16_t status, settlement& out) {
  switch (outcome_of(policy, status)) {
    case outcome_rule::complete:
      out.kind = settle_kind::complete;
      break;
    case outcome_rule::release:
      out.kind = settle_kind::release;
      break;
    case outcome_rule::fail:
      out.kind = settle_kind::fail;
      break;
    case outcome_rule::unknown:
      out.kind = settle_kind::abandon;
      break;
  }
  out.why = unknown_reason::upstream_status;
  out.why_status = status;
  out.retention = policy.retention;
  out.backoff = policy.backoff;
  out.backoff_max = policy.backoff_max;
}

}  // namespace onceguard::http
