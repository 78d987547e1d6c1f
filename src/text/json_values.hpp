// Single values of a JSON text, such as the ids of messages and of webhooks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace onceguard {

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

/// A JSON text that is parsed once. It is refused as a whole if two readers may understand it
/// differently: if an object has a name twice, or if it is nested deeper than 512. Immutable.
class json_values {
 public:
  explicit json_values(std::string_view text);
  json_values(json_values&& other) noexcept;
  json_values& operator=(json_values&& other) noexcept;
  ~json_values();

  [[nodiscard]] bool is_valid() const noexcept { return root_ != nullptr; }
  /// `pointer` is a JSON Pointer (RFC 6901, see is_json_pointer). Absent, if the text is refused.
  [[nodiscard]] json_value at(std::string_view pointer) const;
  /// Whether nothing is there for any reader. An index is lacking only in an array, as some take an
  /// object with the member "1" for one. False, if the text is refused.
  [[nodiscard]] bool lacks(std::string_view pointer) const;

 private:
  std::unique_ptr<nlohmann::json> root_;  // null: the text is refused
};

}  // namespace onceguard
