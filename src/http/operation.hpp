// Makes the engine's operation from an admitted request.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/engine.hpp>
#include <onceguard/http_message.hpp>

#include "http/admission.hpp"

namespace onceguard::http {

/// What the request's fingerprint is made from, under this scope. `service` is the name that
/// fingerprints know the service by. The views are those of the parameters.
[[nodiscard]] fingerprint_input make_input(const request& request, const route_policy& policy,
                                           std::string_view service, const scope_match& under);

/// How the fingerprints of a route's requests are made.
[[nodiscard]] fingerprint_rule rule_of(const route_policy& policy);

/// Of the record, under the admitted scope or a former one.
[[nodiscard]] record_id id_of(const admission& admitted);
[[nodiscard]] record_id id_of(const admission& admitted, const scope_match& under);

/// The operation under its scope, and under each former one. The caller adds the upstream and the
/// answer's room. `admitted`, `policy` and the views of `input` must outlive the claim.
[[nodiscard]] operation make_operation(const admission& admitted, const route_policy& policy,
                                       const std::string& route_name,
                                       const fingerprint_input& input);

}  // namespace onceguard::http
