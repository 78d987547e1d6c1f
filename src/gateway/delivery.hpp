// The key of a webhook's delivery.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "gateway/routing.hpp"
#include "http/admission.hpp"
#include "http/problem.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

struct delivery_refusal {
  http::problem problem = http::problem::signature_invalid;
  std::string detail;  ///< empty: the problem's own
};

/// Checks who signed the delivery, and gives `admitted` its id as the key, in a scope that is the
/// sender's on this route. Empty: it is admitted.
[[nodiscard]] std::optional<delivery_refusal> admit_delivery(const route& rule,
                                                             const http1::head& head,
                                                             std::string_view body,
                                                             http::admission& admitted);

/// The fields less the Idempotency-Key: nobody signed it, and the service gets the id instead.
[[nodiscard]] std::vector<base::field> fields_without_key(std::span<const base::field> fields);

}  // namespace onceguard::gateway
