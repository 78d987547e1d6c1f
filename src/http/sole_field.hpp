// A field that must be there once.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http {

struct sole_field {
  std::string_view value;
  std::size_t times = 0;
  bool misspelt = false;  ///< another field has a name that applications may take for the same
};

[[nodiscard]] inline sole_field find_once(std::span<const base::field> fields,
                                          std::string_view name) {
  sole_field out;
  for (const auto& f : fields) {
    if (!base::same_name(f.name, name)) continue;
    if (!base::iequals(f.name, name)) {
      out.misspelt = true;
    } else if (out.times++ == 0) {
      out.value = f.value;
    }
  }
  return out;
}

}  // namespace onceguard::http
