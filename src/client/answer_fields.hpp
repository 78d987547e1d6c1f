// The header fields of an answer.
#pragma once
#include <optional>
#include <string_view>

#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::client {
inline namespace v1 {

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
