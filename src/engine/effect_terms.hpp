// What the report of an application, which was asked about an earlier attempt, leads to.
#pragma once
#include <optional>
#include <string_view>

#include <onceguard/engine.hpp>

namespace onceguard {

/// "done", "not-done", "unknown".
[[nodiscard]] std::string_view name_of(effect_status status) noexcept;

/// How the lease to ask ends. None: the operation was not done, and once the lease is dispatched
/// its holder may run the operation, or release it.
[[nodiscard]] std::optional<settle_terms> terms_after(const effect_report& report,
                                                      milliseconds retention);

}  // namespace onceguard
