#include "http/outcome.hpp"

#include "http/forwarding.hpp"

namespace onceguard::http {
namespace {

/// Whether a 503 comes from Envoy (or Istio, which uses Envoy) and has no Retry-After of an
/// application.
bool is_of_mesh(std::span<const base::field> fields) noexcept {
  bool mesh = false;
  for (const auto& f : fields) {
    if (base::iequals(f.name, "retry-after") && !f.value.empty()) return false;
    if (!base::iequals(f.name, "server")) continue;
    mesh = mesh || base::iequals(f.value, "envoy") || base::iequals(f.value, "istio-envoy");
  }
  return mesh;
}

/// Whether a 508 comes from another gateway of Onceguard, which then ran nothing.
bool is_loop_refusal(std::uint16_t status, std::span<const base::field> fields) noexcept {
  return status == 508 && base::find_field(fields, "onceguard-retry") != nullptr;
}

outcome_rule rule_for(const route_policy& policy, std::uint16_t status,
                      std::span<const base::field> fields) {
  const auto rule = outcome_of(policy, status);
  if (policy.outcome_status.contains(status) || policy.outcome_class.contains(5)) return rule;
  if (rule == outcome_rule::release && status == 503 && is_of_mesh(fields)) {
    return outcome_rule::unknown;
  }
  const bool nothing_ran = rule == outcome_rule::unknown && is_loop_refusal(status, fields);
  return nothing_ran ? outcome_rule::release : rule;
}

}  // namespace

void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out) {
  const travel_filter filter(fields);
  for (const auto& f : fields) {
    if (!filter.travels(f.name) || base::iequals(f.name, "date")) continue;
    if (is_replay_mark(f.name)) continue;
    if (!keep_set_cookie && base::iequals(f.name, "set-cookie")) continue;
    out.headers.emplace_back(f.name, f.value);
  }
}

void settle_by_status(const route_policy& policy, std::uint16_t status,
                      std::span<const base::field> fields, settle_terms& out) {
  switch (rule_for(policy, status, fields)) {
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
