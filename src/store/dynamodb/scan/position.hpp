// Where a record stands in a list: by its first claim.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/number_in.hpp"

namespace onceguard::dynamodb {

struct position {
  std::uint64_t first = 0;
  std::string id;  ///< of the item

  /// "FIRST,ID", for cursors.
  [[nodiscard]] std::string text() const { return std::to_string(first) + ',' + id; }
  friend auto operator<=>(const position&, const position&) = default;
};

/// Of an empty text, the position before all records; none: the text is none.
[[nodiscard]] inline std::optional<position> read_position(std::string_view text) {
  position out;
  if (text.empty()) return out;
  const auto comma = text.find(',');
  if (comma == text.npos) return std::nullopt;
  const auto first = base::number_in<decltype(out.first)>(text.substr(0, comma));
  if (!first) return std::nullopt;
  out.first = *first;
  out.id = text.substr(comma + 1);
  return out;
}

}  // namespace onceguard::dynamodb
