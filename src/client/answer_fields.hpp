// What the drivers and the policy know of answers.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"

namespace onceguard::client {
inline namespace v1 {

/// Answers of 1xx before the one that counts: a server that sends no end of them gives none.
inline constexpr int interim_answers_max = 16;
inline constexpr const char* interim_fault = "more than 16 answers of 1xx came, and no other";

/// The fault of an answer of which the status came, and too long a body.
[[nodiscard]] inline std::string too_long_text(unsigned status, std::size_t max_answer) {
  return std::to_string(status) + " came, and its body is longer than " +
         std::to_string(max_answer) + " bytes";
}

/// The value of the first field of that name, without white space around it.
[[nodiscard]] inline std::optional<std::string_view> field_of(const answer& got,
                                                              std::string_view name) {
  for (const auto& [field, value] : got.headers) {
    if (base::iequals(field, name)) return base::trim(value);
  }
  return std::nullopt;
}

}  // namespace v1
}  // namespace onceguard::client
