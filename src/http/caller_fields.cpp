#include "http/caller_fields.hpp"

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/name_list.hpp"
#include "core/field_kinds.hpp"
#include "http/forwarded_fields.hpp"

namespace onceguard::http {
namespace {

constexpr base::name_list harmless_names{
    // what the answer should look like
    "accept", "expect",
    // the program, and how it came by the request
    "user-agent", "date", "priority", "cache-control", "pragma", "dnt", "save-data", "referer",
    "sec-gpc", "upgrade-insecure-requests", "device-memory", "downlink", "ect", "rtt",
    "viewport-width", "width", "dpr",
    // the way, as far as Onceguard renews it
    "via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "cdn-loop", "max-forwards",
    // tracing
    "traceparent", "tracestate", "baggage", "b3", "x-trace", "x-cloud-trace-context",
    "sentry-trace",
    // the key of another contract
    "idempotency-key"};
/// The same, with any end.
constexpr base::name_list harmless_parts{"accept-",   "content-",     "sec-fetch-", "sec-ch-",
                                         "x-b3-",     "x-trace-",     "x-datadog-", "x-retry-",
                                         "x-attempt", "x-stainless-", "amz-sdk-",   "conformance-"};
/// Anywhere in a name.
constexpr base::name_list caller_parts{"auth",    "cookie", "token",  "api-key", "apikey",
                                       "session", "user",   "tenant", "account"};

}  // namespace

bool tells_callers_apart(std::string_view name) noexcept {
  if (core::marks_a_try(name)) return false;
  if (names_a_caller(name)) return true;
  if (harmless_names.holds(name) || harmless_parts.begin(name)) return false;
  return !is_hop_by_hop(name) && !is_reserved_field(name);
}

bool names_a_caller(std::string_view name) noexcept {
  if (base::iequals(name, "host")) return true;
  return caller_parts.stand_in(name) && !base::same_name(name, "user-agent");
}

}  // namespace onceguard::http
