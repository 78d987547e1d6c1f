// Numbers in texts.
#pragma once
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace onceguard::base {

/// The whole text as a decimal number of that range; nullopt: it is none.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(
    std::string_view text, Number least = std::numeric_limits<Number>::lowest(),
    Number most = std::numeric_limits<Number>::max()) noexcept {
  Number out{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc() || read.ptr != end || out < least || out > most) return std::nullopt;
  return out;
}

}  // namespace onceguard::base
