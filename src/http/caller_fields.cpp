#include "http/caller_fields.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "http/forwarded_fields.hpp"

namespace onceguard::http {
namespace {

/// A last '*' stands for any end.
constexpr std::array<std::string_view, 55> harmless{
    // what the answer should look like, and how the body is coded
    "accept", "accept-*", "content-*", "expect",
    // the program, and how it came by the request
    "user-agent", "date", "priority", "cache-control", "pragma", "dnt", "save-data", "referer",
    "sec-fetch-*", "sec-ch-*", "sec-gpc", "upgrade-insecure-requests", "device-memory", "downlink",
    "ect", "rtt", "viewport-width", "width", "dpr",
    // the way, as far as Onceguard renews it
    "via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "cdn-loop", "max-forwards",
    // tracing
    "traceparent", "tracestate", "baggage", "b3", "x-b3-*", "x-trace", "x-trace-*", "trace-id",
    "x-request-id", "request-id", "x-correlation-id", "correlation-id", "x-amzn-trace-id",
    "x-cloud-trace-context", "x-datadog-*", "uber-trace-id", "sentry-trace", "x-request-start",
    // which try it is
    "x-retry-*", "x-attempt*", "x-stainless-*", "x-envoy-attempt-count", "amz-sdk-*",
    "retry-attempt", "idempotency-key", "conformance-*"};

bool fits(std::string_view name, std::string_view pattern) noexcept {
  if (!pattern.ends_with('*')) return base::same_name(name, pattern);
  pattern.remove_suffix(1);
  return base::same_name(name.substr(0, pattern.size()), pattern);
}

bool icontains(std::string_view text, std::string_view needle) noexcept {
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(), [](char a, char b) {
           return (a == '_' ? '-' : base::ascii_lower(a)) == b;
         }) != text.end();
}

}  // namespace

bool tells_callers_apart(std::string_view name) noexcept {
  if (names_a_caller(name)) return true;
  if (is_hop_by_hop(name) || is_reserved_field(name)) return false;
  return std::none_of(harmless.begin(), harmless.end(),
                      [&](std::string_view pattern) { return fits(name, pattern); });
}

bool names_a_caller(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 9> marks{
      "auth", "cookie", "token", "api-key", "apikey", "session", "user", "tenant", "account"};
  if (base::iequals(name, "host")) return true;
  if (base::same_name(name, "user-agent")) return false;
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return icontains(name, mark); });
}

}  // namespace onceguard::http
