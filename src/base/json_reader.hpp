// Reads JSON, as a library has parsed it, by the names and types of its members. A text that must
// have its form is read by a json_reader, whose faults say where; what others answer, and may leave
// out, by the functions above it. Whoever reads includes the library, whose type is `Json`.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::base {

/// The value, if it is of that type: a text, a truth value, a whole number that fits.
template <class Value, class Json>
[[nodiscard]] std::optional<Value> value_of(const Json& json) {
  if constexpr (std::same_as<Value, std::string>) {
    if (json.is_string()) return json.template get<std::string>();
  } else if constexpr (std::same_as<Value, bool>) {
    if (json.is_boolean()) return json.template get<bool>();
  } else if (json.is_number_unsigned()) {
    const auto number = json.template get<std::uint64_t>();
    if (std::in_range<Value>(number)) return static_cast<Value>(number);
  } else if (json.is_number_integer()) {
    const auto number = json.template get<std::int64_t>();
    if (std::in_range<Value>(number)) return static_cast<Value>(number);
  }
  return std::nullopt;
}

/// The member; null: it is not there, or that is no object.
template <class Json>
[[nodiscard]] const Json* find_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

/// The member's value, if it is there and of that type.
template <class Value, class Json>
[[nodiscard]] std::optional<Value> member(const Json& object, const char* name) {
  const auto* const found = find_member(object, name);
  return found != nullptr ? value_of<Value>(*found) : std::nullopt;
}

/// The member's text; empty: it has none.
template <class Json>
[[nodiscard]] std::string text_in(const Json& object, const char* name) {
  return member<std::string>(object, name).value_or(std::string());
}

/// The member, if it is a list; else an empty list.
template <class Json>
[[nodiscard]] const Json& list_in(const Json& object, const char* name) {
  static const Json none = Json::array();
  const auto* const found = find_member(object, name);
  return found != nullptr && found->is_array() ? *found : none;
}

/// JSON that can't be used, and where. Never leaves the function that reads it.
struct malformed_json {
  std::string text;
};

/// A value and its location in the text. Throws malformed_json where it is another one than is
/// asked for.
template <class Json>
class json_reader {
 public:
  /// The whole of a text, which faults call `name`.
  json_reader(const Json& whole, std::string name) : json_(&whole), location_(std::move(name)) {}

  [[nodiscard]] const Json& json() const noexcept { return *json_; }
  /// Another value at this place.
  [[nodiscard]] json_reader with(const Json& other) const { return {other, location_, is_whole_}; }

  [[noreturn]] void refuse(const std::string& fault) const {
    throw malformed_json{location_ + ": " + fault};
  }

  /// Refuses members with other names.
  template <class Names = std::initializer_list<std::string_view>>
  void has_only(const Names& known) const {
    members([&](const std::string& name, const json_reader&) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        refuse("unknown member " + name);
      }
    });
  }

  [[nodiscard]] std::optional<json_reader> find(const char* name) const {
    if (!json_->is_object()) refuse("is no object");
    const auto* const found = find_member(*json_, name);
    return found != nullptr ? std::optional(child(*found, name)) : std::nullopt;
  }
  [[nodiscard]] json_reader at(const char* name) const {
    auto found = find(name);
    if (!found) child(*json_, name).refuse("is missing");
    return *std::move(found);
  }
  /// Sets what the member says, if it is there.
  template <class Value>
  void take(const char* name, Value& out) const {
    if (const auto found = find(name)) out = found->template as<Value>();
  }
  template <class Value>
  void take(const char* name, std::optional<Value>& out) const {
    if (const auto found = find(name)) out = found->template as<Value>();
  }

  template <class Value>
  [[nodiscard]] Value as() const {
    auto value = value_of<Value>(*json_);
    if (value) return *std::move(value);
    if constexpr (std::same_as<Value, std::string>) refuse("is no text");
    refuse(std::same_as<Value, bool> ? "is neither true nor false" : "is no whole number in range");
  }
  [[nodiscard]] std::string text() const { return as<std::string>(); }
  [[nodiscard]] std::uint64_t number(std::uint64_t least, std::uint64_t most) const {
    const auto value = value_of<std::uint64_t>(*json_);
    if (value && *value >= least && *value <= most) return *value;
    const auto range = least == 0 ? " up to " : " from " + std::to_string(least) + " to ";
    refuse("is no whole number" + range + std::to_string(most));
  }
  [[nodiscard]] std::pair<std::string, std::string> pair() const {
    if (!json_->is_array() || json_->size() != 2) refuse("is no pair of name and value");
    return {element(0).text(), element(1).text()};
  }

  /// Of a list.
  template <class Each>
  void each(const Each& read) const {
    if (!json_->is_array()) refuse("is no list");
    for (std::size_t i = 0; i < json_->size(); ++i) read(element(i));
  }
  /// Of an object, in its order: the name and the value.
  template <class Each>
  void members(const Each& read) const {
    if (!json_->is_object()) refuse("is no object");
    for (const auto& [name, value] : json_->items()) read(name, child(value, name));
  }

 private:
  json_reader(const Json& part, std::string location, bool is_whole)
      : json_(&part), location_(std::move(location)), is_whole_(is_whole) {}

  [[nodiscard]] json_reader child(const Json& value, const std::string& name) const {
    return {value, is_whole_ ? name : location_ + "." + name, false};
  }
  [[nodiscard]] json_reader element(std::size_t index) const {
    return {(*json_)[index], location_ + "[" + std::to_string(index) + "]", false};
  }

  const Json* json_;
  std::string location_;
  bool is_whole_ = true;
};

/// Why a text was not read.
enum class json_fault : std::uint8_t { none, no_json, repeated_name };

/// Reads a text that must be one value, in which no name stands twice: readers differ in which of
/// the two counts. The library takes a NUL for the end of the text.
template <class Json>
[[nodiscard]] json_fault parse_unambiguous(std::string_view text, Json& out) {
  using moment = typename Json::parse_event_t;
  std::vector<std::set<std::string>> names;
  bool once = true;
  const auto watch = [&](int, moment seen, Json& value) {
    if (seen == moment::object_start) names.emplace_back();
    if (seen == moment::object_end) names.pop_back();
    if (seen == moment::key) {
      once = names.back().insert(value.template get<std::string>()).second && once;
    }
    return true;
  };
  out = Json::parse(text, watch, false);
  if (out.is_discarded() || text.find('\0') != text.npos) return json_fault::no_json;
  return once ? json_fault::none : json_fault::repeated_name;
}

/// What `read` makes of the whole text, which faults call `name`; or what is wrong with it.
template <class Json, class Read>
[[nodiscard]] auto read_json(std::string_view text, const char* name, const Read& read)
    -> result<decltype(read(std::declval<const json_reader<Json>&>()))> {
  Json parsed;
  const auto read_as = parse_unambiguous(text, parsed);
  const json_reader<Json> whole(parsed, name);
  try {
    if (read_as == json_fault::no_json) whole.refuse("is no JSON");
    if (read_as == json_fault::repeated_name) whole.refuse("has a member twice");
    return read(whole);
  } catch (const malformed_json& fault) {
    return error(errc::invalid_argument, fault.text);
  }
}

}  // namespace onceguard::base
