#include <algorithm>
#include <utility>

#include <onceguard/policy.hpp>

namespace onceguard {
inline namespace v1 {
namespace {

/// A lease that is shorter can run out between two renewals by rounds.
constexpr milliseconds shortest_lease{1'000};

/// 4xx with which an upstream refuses for the moment only: the same request may succeed later.
bool passing_refusal(std::uint16_t status) noexcept {
  return status == 408 || status == 409 || status == 425 || status == 429;
}

/// 501 and 503 mean that the request was not carried out. Any other 5xx may follow an effect.
outcome_rule of_server_error(std::uint16_t status) noexcept {
  return status == 501 || status == 503 ? outcome_rule::release : outcome_rule::unknown;
}

outcome_rule of_keep_rule(keep_rule keep, std::uint16_t status) noexcept {
  // 1xx ends no exchange. After 101 the gateway does not read what the upstream does.
  if (status < 200) return outcome_rule::unknown;
  if (status < 400 || keep == keep_rule::all) return outcome_rule::complete;
  if (status >= 500) return of_server_error(status);
  if (keep == keep_rule::final && !passing_refusal(status)) return outcome_rule::complete;
  return outcome_rule::release;
}

}  // namespace

std::string scope_rule::text() const {
  switch (source) {
    case scope_source::credential:
      return "credential";
    case scope_source::header:
      return "header:" + name;
    case scope_source::cookie:
      return "cookie:" + name;
    case scope_source::address:
      return "address";
    case scope_source::jwt:
      return "jwt:" + name;
    case scope_source::auth_param:
      return "auth-param:" + name;
    case scope_source::several: {
      std::string out;
      for (const auto& part : parts) out += (out.empty() ? "" : " + ") + part.text();
      return out;
    }
    case scope_source::none:
      break;
  }
  return "none";
}

std::string key_source::text() const {
  switch (location) {
    case key_location::header:
      return header;
    case key_location::path:
      return "path:" + std::to_string(segment);
    case key_location::json:
      return "json:" + pointer;
    case key_location::content:
      break;
  }
  return "content";
}

bool renews_lease(const route_policy& policy) noexcept {
  return policy.effect != effect_rule::transactional;
}

std::string fault_of_durations(const route_policy& policy) {
  if (policy.lease < shortest_lease) return "lease is shorter than a second";
  if (policy.retention.count() <= 0) return "retention is not positive";
  const std::pair<const char*, milliseconds> others[] = {
      {"wait", policy.wait},
      {"backoff", policy.backoff},
      {"backoff_max", policy.backoff_max},
      {"unknown_retention", policy.unknown_retention},
      {"upstream_timeout", policy.upstream_timeout}};
  for (const auto& [name, length] : others) {
    if (length.count() < 0) return std::string(name) + " is negative";
  }
  return {};
}

milliseconds lease_length(const route_policy& policy) noexcept {
  return renews_lease(policy) ? policy.lease : std::max(policy.lease, policy.upstream_timeout);
}

outcome_rule outcome_of(const route_policy& policy, std::uint16_t status) noexcept {
  const auto& single = policy.outcome_status;
  if (const auto it = single.find(status); it != single.end()) return it->second;
  const auto& classes = policy.outcome_class;
  const auto hundreds = static_cast<std::uint16_t>(status / 100);
  if (const auto it = classes.find(hundreds); it != classes.end()) return it->second;
  return of_keep_rule(policy.keep, status);
}

}  // namespace v1
}  // namespace onceguard
