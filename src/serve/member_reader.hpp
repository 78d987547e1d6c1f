// The members of a message's object, each of which has its type and place, or is a fault by name.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "serve/protocol_message.hpp"

namespace onceguard::serve {

/// Keeps the first fault.
class member_reader {
 public:
  /// `where` is the object's own name; empty: it is the message. A member that is not `known` is a
  /// fault, as somebody may have meant another one.
  member_reader(json& object, std::string where, std::initializer_list<std::string_view> known,
                std::string& fault);

  /// A member that is null is none.
  [[nodiscard]] bool has(const char* name) const {
    const auto found = object_.find(name);
    return found != object_.end() && !found->is_null();
  }
  /// The member; null: it is missing, which is a fault if `needed`, or of another type.
  [[nodiscard]] json* get(const char* name, json::value_t type, bool needed = false);
  [[nodiscard]] std::string text(const char* name, bool needed = false);
  [[nodiscard]] bool flag(const char* name, bool otherwise);
  [[nodiscard]] std::optional<milliseconds> duration(const char* name);
  /// A text whose characters are bytes.
  [[nodiscard]] std::string latin(const char* name, bool needed = false);
  /// The bytes of `body` or `body_base64`, or of the framed message; none: there are none.
  [[nodiscard]] std::optional<std::string> body(std::optional<std::string>& framed);
  [[nodiscard]] header_list headers();
  void refuse(std::string_view name, std::string_view why);

 private:
  [[nodiscard]] std::string path(std::string_view name) const;
  void read_header(const json& each, std::size_t index, header_list& out);

  json& object_;
  const std::string where_;
  std::string& fault_;
};

}  // namespace onceguard::serve
