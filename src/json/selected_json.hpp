// A JSON text without what is not to be kept of it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onceguard {

/// JSON Pointers, of which a segment `*` stands for every element and every member.
struct json_selection_rules {
  /// Empty: every value stays.
  std::span<const std::string> picked;
  /// Goes before `picked`.
  std::span<const std::string> redacted;
};

struct selected_json {
  std::string text;
  bool changed = false;  ///< a value is not as it was, or is gone
};

/// The text without spaces, its members in their order, its numbers as they are written. A redacted
/// text is "[redacted]", any other redacted value null. A member that is not picked is gone; an
/// element that is not picked is null, so that those behind it keep their place. Empty: the text is
/// no I-JSON, or the result would be longer than `longest`.
[[nodiscard]] std::optional<selected_json> select_json(std::string_view text,
                                                       const json_selection_rules& rules,
                                                       std::size_t longest);

}  // namespace onceguard
