#include "base/log_events.hpp"

#include <array>

#include "base/log_event_table.hpp"

namespace onceguard::base {

std::span<const event_info> events() noexcept { return event_table(); }

std::string_view name_of(log_level level) noexcept {
  constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};
  return names[static_cast<std::size_t>(level)];
}

const event_info& info_of(event id) noexcept { return event_table()[static_cast<std::size_t>(id)]; }

}  // namespace onceguard::base
