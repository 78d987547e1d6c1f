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

}  // namespace onceguard::base
