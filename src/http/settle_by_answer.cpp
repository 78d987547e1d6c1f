#include "http/settle_by_answer.hpp"

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "core/redirect.hpp"
#include "http/forwarded_fields.hpp"
#include "http/outcome_in_answer.hpp"
#include "http/proxy_sign.hpp"
#include "http/request_target.hpp"
#include "http/route_table.hpp"

namespace onceguard::http {
namespace {

/// Whether a 508 comes from another gateway of Onceguard, which then ran nothing.
bool is_loop_refusal(std::uint16_t status, std::span<const base::field> fields) noexcept {
  return status == 508 && base::find_field(fields, "onceguard-retry") != nullptr;
}

/// Whether the route has a rule of its own for the status, other than `keep`.
bool has_rule_for(const route_policy& policy, std::uint16_t status) {
  return policy.outcome_status.contains(status) ||
         policy.outcome_class.contains(static_cast<std::uint16_t>(status / 100));
}

/// Whether proxies are known to say this after they have sent a request on. Other refusals of
/// theirs are about the request itself, and come before that.
bool is_said_by_proxies(std::uint16_t status) noexcept {
  return status == 503 || status == 501 || status == 408;
}

/// What the service's word or a rule of the route says; empty: neither says anything.
std::optional<outcome_rule> meaning_by_rule(const route_policy& policy,
                                            const settling_answer& answer) {
  if (const auto word = word_of_service(answer.fields)) return word;
  if (const auto part = meaning_of_parts(policy.outcome_parts, answer.fields, answer.body)) {
    return part;
  }
  if (has_rule_for(policy, answer.status)) return outcome_of(policy, answer.status);
  return std::nullopt;
}

/// What the status means by itself.
outcome_rule rule_for(const route_policy& policy, const settling_answer& answer) {
  const auto& [status, fields, body, proxy] = answer;
  const auto rule = outcome_of(policy, status);
  if (rule == outcome_rule::release && !proxy.empty()) {
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
    if (ends_here(f.name)) continue;
    if (!keep_set_cookie && base::iequals(f.name, "set-cookie")) continue;
    out.headers.emplace_back(f.name, f.value);
  }
}

std::string_view sign_of_another(std::uint16_t status, std::span<const base::field> fields,
                                 bool lacks_name, std::optional<std::string_view> body) noexcept {
  if (!is_said_by_proxies(status)) return {};
  if (const auto sign = proxy_sign(fields); !sign.empty()) return sign;
  if (!lacks_name || (body && says_nothing_was_sent(*body))) return {};
  return "no Server, which the service always has";
}

bool settle_by_answer(const route_policy& policy, const settling_answer& answer,
                      settle_terms& out) {
  const auto by_rule = meaning_by_rule(policy, answer);
  switch (by_rule ? *by_rule : rule_for(policy, answer)) {
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
  out.why_status = answer.status;
  out.retention = policy.retention;
  out.backoff = policy.backoff;
  out.backoff_max = policy.backoff_max;
  return by_rule.has_value();
}

void settle_redirect(std::string_view target, std::string_view host, const answer& kept,
                     settle_terms& out, bool by_rule) {
  if (out.kind != settle_kind::complete) return;
  const auto parts = split_target(target);
  const auto leads_to = core::redirect_target(kept, parts.path);
  if (!leads_to) return;
  auto requested = std::string(parts.path);
  if (parts.query) requested.append("?").append(*parts.query);
  const auto there = core::redirect_host(kept);
  const bool same_host = there.empty() || base::iequals(without_port(there), without_port(host));
  if (!by_rule && same_host && *leads_to == requested) {
    out.kind = settle_kind::release;
    out.answer = nullptr;
  } else if (!out.answer) {
    auto without_body = std::make_shared<answer>(kept);
    without_body->body.clear();
    out.answer = std::move(without_body);
    out.kept = answer_kept::status_only;
  }
}

}  // namespace onceguard::http
