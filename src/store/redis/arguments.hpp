// Values in the form that the scripts accept, and checks for values that are too large.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "store/redis/command.hpp"

namespace onceguard::redis {

// Reads numbers from texts.

/// The whole text as a decimal number. Empty: the text is not a number.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number out{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// In milliseconds. A length above 3,000 years is cut to 3,000 years.
[[nodiscard]] decimal text_of(milliseconds length);

[[nodiscard]] std::optional<error> too_large(const subject& about);
[[nodiscard]] std::optional<error> too_large(token given);

}  // namespace onceguard::redis
