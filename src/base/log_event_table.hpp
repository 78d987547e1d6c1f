#pragma once
#include <span>

#include "base/log_events.hpp"

namespace onceguard::base {

/// In the order of the enumeration.
[[nodiscard]] std::span<const event_info> event_table() noexcept;

}  // namespace onceguard::base
