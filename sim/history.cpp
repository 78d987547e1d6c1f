#include "history.hpp"

#include <array>
#include <cstdio>

namespace onceguard::sim {

void history::note(std::int64_t time, std::uint64_t machine, std::uint64_t word) noexcept {
  for (const auto part : {static_cast<std::uint64_t>(time), machine, word}) {
    digest_ = (digest_ ^ part) * 0x0000'0100'0000'01b3;
    digest_ ^= digest_ >> 29;
  }
}

void history::add(const happening& next) {
  note(next.time, std::uint64_t{next.machine} << 8 | static_cast<std::uint64_t>(next.kind),
       std::uint64_t{next.key} << 32 | next.print);
  note(static_cast<std::int64_t>(next.number), static_cast<std::uint64_t>(next.value), next.body);
  all_.push_back(next);
}

std::string_view name_of(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, event_kinds> names{
      "request",    "answer",  "dispatch",    "effect", "answered", "in_doubt", "sending",
      "lease_lost", "grant",   "probe_grant", "extend", "complete", "release",  "fail",
      "abandon",    "resolve", "lose_memory", "crash",  "restart",  "stop",     "calm",
      "message",    "step",    "lose_copies", "reboot"};
  return names[static_cast<std::size_t>(kind)];
}

std::string text_of(const happening& event) {
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "%12.3f machine=%u %-11s key=%u print=%u number=%llu value=%lld body=%llu",
                static_cast<double>(event.time) / 1e6, unsigned{event.machine},
                std::string(name_of(event.kind)).c_str(), unsigned{event.key}, event.print,
                static_cast<unsigned long long>(event.number), static_cast<long long>(event.value),
                static_cast<unsigned long long>(event.body));
  return line.data();
}

}  // namespace onceguard::sim
