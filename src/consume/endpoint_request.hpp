// The request that hands a message to an HTTP endpoint.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "consume/receiver.hpp"

namespace onceguard::consume {

/// What all requests to an endpoint have in common.
struct endpoint_form {
  base::http_url url;
  messaging::attribute sender;         ///< the field that says who sends
  std::vector<std::string> secrets;    ///< the bytes of the keys of signatures; empty: none
  std::vector<std::string> headers{};  ///< of a message: those that the request has, too
};

/// POST with `Idempotency-Key`, `Onceguard-Attempt`, the field that says who sends, those headers
/// of the message that have a form in HTTP, and, with secrets, the signatures of Standard Webhooks.
[[nodiscard]] std::string endpoint_request(const endpoint_form& form, const handover& given);

/// Why a message's header can't be a field of the request; empty: it can.
[[nodiscard]] std::string header_fault(std::string_view name);

}  // namespace onceguard::consume
