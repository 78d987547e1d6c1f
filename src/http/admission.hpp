// Decides from a request's head whether the request is guarded, and by which key and scope.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/http_message.hpp>

#include "http/problem.hpp"
#include "http/request_flow.hpp"
#include "http/request_report.hpp"
#include "http/scope.hpp"

namespace onceguard::http {

enum class admission_kind : std::uint8_t { pass, guard, refuse };

struct admission : scope_match {  // guard: the key's scope
  admission_kind kind = admission_kind::pass;
  std::string_view reason;  ///< pass: why the request is not guarded; a constant text
  unguarded_reason why = unguarded_reason::none;  ///< pass: the same, for the report
  // guard
  std::string key;                  ///< empty: it follows from the body, see complete_key
  bool key_in_body = false;         ///< a key may stand in the body, or another one
  bool scope_missing = false;       ///< key_in_body: refused if there is a key
  std::vector<scope_match> former;  ///< scopes in which an older record of this key may be stored
  // refuse, scope_missing: why
  problem refusal = problem::bad_request;
  std::string detail;
};

[[nodiscard]] admission admit(const route_policy& policy, const request& request, scope_memo& last);
[[nodiscard]] admission admit(const route_policy& policy, const request& request);

/// The same, for a scope that an application finds; no scope: the request is refused.
using scope_finder = std::function<std::optional<scope_match>(const request&)>;
[[nodiscard]] admission admit(const route_policy& policy, const request& request,
                              const scope_finder& find);

/// How the steps `admit` and `identify` end with it; `why`, if it is refused.
[[nodiscard]] step_end end_of(admission& admitted, refusal& why);
/// Of a body that is longer than the route takes with a key.
[[nodiscard]] refusal body_too_large(const route_policy& policy);

/// Of a request whose key stands elsewhere: refused, or guarded by a key and scope that are still
/// to be found.
[[nodiscard]] admission admit_without_key(const request& request);

/// Once the body is there: sets a key that stands in the body or follows from it. What is guarded
/// so far may turn out to have no key, or a wrong one: then `admitted` passes or is refused.
void complete_key(admission& admitted, const route_policy& policy, const fingerprint_input& input);

}  // namespace onceguard::http
