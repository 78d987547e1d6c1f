// A header field.
#pragma once
#include <string_view>

namespace onceguard {

/// A header field, as views.
struct field {
  std::string_view name;
  std::string_view value;  ///< without surrounding white space
};

}  // namespace onceguard
