// Reads numbers from texts.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace onceguard::redis {

/// The whole text as a decimal number. Empty: the text is not a number.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number out{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace onceguard::redis
