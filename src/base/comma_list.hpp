// Words in one text for people.
#pragma once
#include <string>
#include <vector>

namespace onceguard::base {

/// "a, b, c"
[[nodiscard]] inline std::string comma_list(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace onceguard::base
