// The engine of a command that runs until it is stopped.
#pragma once
#include <optional>
#include <stop_token>

#include <onceguard/guard.hpp>

#include "config/settings.hpp"

namespace onceguard::cli::services {

/// Opens the store, again and again until it opens or a stop is requested. Nullopt: the latter.
[[nodiscard]] result<std::optional<guard>> open_guard(const config::settings& settings,
                                                      const guard_params& params,
                                                      const std::stop_token& stop);

}  // namespace onceguard::cli::services
