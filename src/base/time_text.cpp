#include "base/time_text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace onceguard::base {

std::string time_text(std::int64_t wall_ms) {
  if (wall_ms == 0) return {};
  const auto seconds = static_cast<std::time_t>(wall_ms / 1'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  std::array<char, 64> out{};
  const auto length = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string text(out.data(), length);
  std::snprintf(out.data(), out.size(), ".%03dZ", static_cast<int>(wall_ms % 1'000));
  return text + out.data();
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  int fraction = 0;
  if (rest == nullptr || std::sscanf(rest, ".%3dZ", &fraction) != 1) return std::nullopt;
  const auto wall_ms = std::int64_t{::timegm(&parts)} * 1'000 + fraction;
  return time_text(wall_ms) == text ? std::optional(wall_ms) : std::nullopt;
}

}  // namespace onceguard::base
