// The head of a described request, as the gateway's own reader takes it.
#pragma once
#include <optional>

#include "cli/trial/explanation.hpp"
#include "http1/message.hpp"

namespace onceguard::cli::trial {

/// Why the gateway refuses the request by its head alone, before any route. A description without a
/// Host is taken to have one.
[[nodiscard]] std::optional<http1::fault> fault_in_head(const config::settings& settings,
                                                        const described_request& request);

}  // namespace onceguard::cli::trial
