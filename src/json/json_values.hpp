// Single values of a JSON text, such as the ids of messages and of webhooks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace onceguard {

struct json_tree;

/// What stands at a place of a JSON text.
struct json_value {
  enum class kind : std::uint8_t {
    absent,  ///< nothing, or null
    text,    ///< a string, or an integer of up to 64 bits
    other,   ///< an object, an array, a boolean, or another number
  };
  json_value::kind type = kind::absent;
  std::string text{};  ///< an integer in its digits
};

/// A JSON text that is parsed once, in time and memory in proportion to it. It is refused as a
/// whole if two readers may understand it differently: if an object has a name twice, or if it is
/// nested deeper than 512. Immutable.
class json_values {
 public:
  /// A text with more than `values_max` values is refused, too: for texts of strangers, whom a
  /// value costs less than us.
  explicit json_values(std::string_view text, std::size_t values_max = unlimited);
  json_values(json_values&& other) noexcept;
  json_values& operator=(json_values&& other) noexcept;
  ~json_values();

  static constexpr std::size_t unlimited = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] bool is_valid() const noexcept { return tree_ != nullptr; }
  /// `pointer` is a JSON Pointer (RFC 6901, see is_json_pointer). Absent, if the text is refused.
  [[nodiscard]] json_value at(std::string_view pointer) const;
  /// Whether nothing is there for any reader. An index is lacking only in an array, as some take an
  /// object with the member "1" for one. False, if the text is refused.
  [[nodiscard]] bool lacks(std::string_view pointer) const;

 private:
  std::unique_ptr<json_tree> tree_;  // null: the text is refused
};

}  // namespace onceguard
