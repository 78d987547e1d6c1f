// Members of JSON, as a library has parsed it, with the place in the error where one is required.
// Whoever reads includes the library, whose type is `Json`.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::base {

/// The member, if it is there and of that type: a text, a whole number, or not negative if `Value`
/// has no sign.
template <class Value, class Json>
[[nodiscard]] std::optional<Value> member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  bool fits = false;
  if constexpr (std::same_as<Value, std::string>) {
    fits = found->is_string();
  } else if constexpr (std::unsigned_integral<Value>) {
    fits = found->is_number_unsigned();
  } else {
    fits = found->is_number_integer();
  }
  if (!fits) return std::nullopt;
  return found->template get<Value>();
}

/// The member's text; empty: it has none.
template <class Json>
[[nodiscard]] std::string text_in(const Json& object, const char* name) {
  return member<std::string>(object, name).value_or(std::string());
}

/// JSON that can't be used, and where. Never leaves the function that reads it.
struct malformed_json {
  std::string text;
};
[[noreturn]] inline void refuse_json(const std::string& where, const std::string& fault) {
  throw malformed_json{where + ": " + fault};
}

/// Refuses what is no object, and a member that is not known.
template <class Json>
void check_members(const Json& object, const std::string& where,
                   std::initializer_list<std::string_view> known) {
  if (!object.is_object()) refuse_json(where, "is no object");
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse_json(where, "unknown member " + name);
    }
  }
}

}  // namespace onceguard::base
