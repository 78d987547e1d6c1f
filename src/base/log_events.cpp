#include "base/log_events.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace onceguard::base {
namespace {

/// The name of an event: its id with hyphens.
template <std::size_t size>
struct hyphened {
  consteval hyphened(const char (&id)[size]) { std::replace_copy(id, id + size, text, '_', '-'); }
  char text[size]{};
};
template <hyphened id>
inline constexpr std::string_view name_of_event = id.text;

/// A row of the list: the title of a section, or an event.
struct row {
  std::string_view title{};
  event_info about{};
};

constexpr auto table = [] {
  using enum log_level;
  constexpr bool once = false;
  constexpr bool recurring = true;
  constexpr std::array rows{
#define SECTION(title) row{title, {}},
#define EVENT(id, level, often, fields, meaning) \
  row{{}, {event::id, name_of_event<#id>, level, often, fields, meaning, {}}},
#include "base/log_events.inc"
#undef EVENT
#undef SECTION
  };
  constexpr auto titles =
      std::ranges::count_if(rows, [](const row& r) { return !r.title.empty(); });
  std::array<event_info, rows.size() - titles> out{};
  std::size_t next = 0;
  std::string_view section;
  for (const auto& each : rows) {
    if (!each.title.empty()) {
      section = each.title;
      continue;
    }
    out[next] = each.about;
    out[next++].section = section;
  }
  return out;
}();

}  // namespace

std::span<const event_info> events() noexcept { return table; }

const event_info& info_of(event id) noexcept { return table[static_cast<std::size_t>(id)]; }

std::string_view name_of(log_level level) noexcept {
  constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};
  return names[static_cast<std::size_t>(level)];
}

}  // namespace onceguard::base
