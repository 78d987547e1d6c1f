// A header field.
#pragma once
#include <string_view>

namespace onceguard {
inline namespace v1 {

/// A header field, as views.
struct field {
  std::string_view name;   ///< as it was sent
  std::string_view value;  ///< without surrounding white space
};

}  // namespace v1
}  // namespace onceguard
