// Which header fields say for whom, or what, a request asks: they are part of its fingerprint. And
// which differ from one try of a request to the next: a retry would get 422 for ever by those.
#pragma once
#include <string_view>

namespace onceguard::core {

/// Whether the field tells one try of a request from the next, and nothing of the request: names
/// that end in request-id, trace-id, attempt, timestamp …, whatever words stand before.
[[nodiscard]] bool marks_a_try(std::string_view name) noexcept;

/// Whether the field names an account, a tenant or a host that the credential may stand for:
/// Stripe-Account, Xero-Tenant-Id, OpenAI-Organization, X-Merchant-Id, X-Team …
[[nodiscard]] bool names_account(std::string_view name) noexcept;

/// Whether the field names the operation, or how it is to be done: SOAPAction, X-Amz-Target,
/// X-HTTP-Method-Override, X-Dry-Run …
[[nodiscard]] bool names_operation(std::string_view name) noexcept;

}  // namespace onceguard::core
