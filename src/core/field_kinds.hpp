// Which header fields say for whom, or what, a request asks: they are part of its fingerprint.
#pragma once
#include <string_view>

namespace onceguard::core {

/// Whether the field names an account, a tenant or a host that the credential may stand for:
/// Stripe-Account, Xero-Tenant-Id, OpenAI-Organization, X-Merchant-Id …
[[nodiscard]] bool names_account(std::string_view name) noexcept;

/// Whether the field names the operation, or how it is to be done: SOAPAction, X-Amz-Target,
/// X-HTTP-Method-Override, X-Dry-Run …
[[nodiscard]] bool names_operation(std::string_view name) noexcept;

}  // namespace onceguard::core
