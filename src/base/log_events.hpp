// The events of the log: their ids, levels, fields and meaning. log_events.inc has a row for each.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace onceguard::base {

enum class log_level : std::uint8_t { debug, info, warning, error };

enum class event : std::uint8_t {
#define SECTION(title)
#define EVENT(id, ...) id,
#include "base/log_events.inc"
#undef EVENT
#undef SECTION
};

struct event_info {
  event id;
  std::string_view name;    ///< with hyphens: how the log and the docs call it
  log_level level;          ///< unless the place that logs the event says otherwise
  bool recurring;           ///< may come with each request of an outage: some lines may be left out
  std::string_view fields;  ///< in their order, with spaces between
  std::string_view meaning;  ///< for operators: what happened, and what to do
  std::string_view section;
};

/// All events, in the order of the enumeration.
[[nodiscard]] std::span<const event_info> events() noexcept;
[[nodiscard]] const event_info& info_of(event id) noexcept;
[[nodiscard]] std::string_view name_of(log_level level) noexcept;

}  // namespace onceguard::base
