// Turns an application's report on an earlier attempt into the settle of the probe lease.
#pragma once
#include <optional>
#include <string_view>

#include <onceguard/engine.hpp>

namespace onceguard {
inline namespace v1 {

/// "done", "not-done", "unknown".
[[nodiscard]] std::string_view name_of(effect_status status) noexcept;

/// The settle of the probe lease. None: the operation was not done; once the lease is dispatched,
/// its holder may run the operation, or release the lease.
[[nodiscard]] std::optional<settle_terms> terms_after(const effect_report& report,
                                                      milliseconds retention);

}  // namespace v1
}  // namespace onceguard
