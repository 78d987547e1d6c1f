// JSON texts whose bytes are kept: where members and elements stand, so that a proxy may change one
// of them and pass on the rest untouched.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::mcp {

/// A member of an object, or an element of an array, which has no name.
struct raw_value {
  std::string name;       ///< with its escapes decoded
  std::string_view text;  ///< the value as it is written
  std::size_t begin = 0;  ///< where the member or element begins in the text
  std::size_t end = 0;    ///< behind its last byte
};

/// Whether the text is one JSON value, of whatever depth. A string may have escapes of surrogates
/// without their other halves, as the grammar allows.
[[nodiscard]] bool is_json(std::string_view text);

/// The members of an object, in order; empty: the text is no whole object. The text may be no valid
/// JSON in its values, as others read NaN or bytes that are no UTF-8.
[[nodiscard]] std::optional<std::vector<raw_value>> members_of(std::string_view text);
/// The elements of an array; empty: the text is no array.
[[nodiscard]] std::optional<std::vector<raw_value>> elements_of(std::string_view text);

/// The member; null: there is none.
[[nodiscard]] const raw_value* find(const std::vector<raw_value>& members, std::string_view name);
/// The last one of this name, which counts for most readers.
[[nodiscard]] const raw_value* find_last(const std::vector<raw_value>& members,
                                         std::string_view name);
/// Whether a name stands there twice: readers differ in which one counts.
[[nodiscard]] bool has_repeats(const std::vector<raw_value>& members);

/// The contents of a JSON string; empty: the text is none. Of a valid one they are UTF-8, but for
/// lone surrogates.
[[nodiscard]] std::optional<std::string> string_of(std::string_view text);
/// True for `true`.
[[nodiscard]] bool is_true(const raw_value* value);
/// The text as a JSON string. What is no UTF-8 is replaced.
[[nodiscard]] std::string json_string(std::string_view text);

/// The object without the member.
[[nodiscard]] std::string without(std::string_view object, const raw_value& member);
/// The object or array with a member or element in front.
[[nodiscard]] std::string with_first(std::string_view container, std::string_view added);
/// The text with another value of a member or element.
[[nodiscard]] std::string with_value(std::string_view text, const raw_value& old,
                                     std::string_view value);

}  // namespace onceguard::mcp
