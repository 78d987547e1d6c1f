#include "history.hpp"

#include <array>
#include <cstdio>

namespace onceguard::sim {

void history::note(std::int64_t at, std::uint64_t machine, std::uint64_t what) noexcept {
  for (const auto part : {static_cast<std::uint64_t>(at), machine, what}) {
    digest_ = (digest_ ^ part) * 0x0000'0100'0000'01b3;
    digest_ ^= digest_ >> 29;
  }
}

void history::add(const happening& next) {
  note(next.at, std::uint64_t{next.machine} << 8 | static_cast<std::uint64_t>(next.kind),
       std::uint64_t{next.key} << 32 | next.print);
  note(static_cast<std::int64_t>(next.what), static_cast<std::uint64_t>(next.value), next.body);
  all_.push_back(next);
}

std::string_view name_of(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, event_kinds> names{
      "request",     "answer", "dispatch", "effect",  "answered", "doubt",   "grant",
      "probe_grant", "extend", "complete", "release", "fail",     "abandon", "resolve",
      "lose_memory", "crash",  "restart",  "stop",    "calm",     "message", "step"};
  return names[static_cast<std::size_t>(kind)];
}

std::string text_of(const happening& what) {
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "%12.3f machine=%u %-11s key=%u print=%u what=%llu value=%lld body=%llu",
                static_cast<double>(what.at) / 1e6, unsigned{what.machine},
                std::string(name_of(what.kind)).c_str(), unsigned{what.key}, what.print,
                static_cast<unsigned long long>(what.what), static_cast<long long>(what.value),
                static_cast<unsigned long long>(what.body));
  return line.data();
}

}  // namespace onceguard::sim
