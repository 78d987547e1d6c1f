// The request that hands a message to an HTTP endpoint.
#pragma once
#include <string>

#include "consume/receiver.hpp"

namespace onceguard::consume {

/// POST with `Idempotency-Key`, `Onceguard-Attempt`, the field that says who sends, and, unless
/// `secret` is empty, the signature of Standard Webhooks.
[[nodiscard]] std::string endpoint_request(const gateway::http_url& url, const handover& given,
                                           const std::string& secret,
                                           const messaging::attribute& sender);

}  // namespace onceguard::consume
