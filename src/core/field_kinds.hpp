// Which header fields say for whom, or what, a request asks: they are part of its fingerprint.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::core {

/// Whether the field names an account, a tenant or a host that the credential may stand for:
/// Stripe-Account, Xero-Tenant-Id, OpenAI-Organization, X-Merchant-Id …
[[nodiscard]] bool names_account(std::string_view name) noexcept;

/// Whether the field names the operation, or how it is to be done: SOAPAction, X-Amz-Target,
/// X-HTTP-Method-Override, X-Dry-Run …
[[nodiscard]] bool names_operation(std::string_view name) noexcept;

/// A mark of a caller without a credential, "name:value", as far as it is the same at each try:
/// without the cookies of balancers and counters, and without tokens against forged requests, which
/// stand beside a cookie of the session. Empty: nothing is left of it.
[[nodiscard]] std::string lasting_mark(std::string_view mark);

}  // namespace onceguard::core
