// Header fields: found by their names, and lists in their values.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include <onceguard/field.hpp>

#include "base/ascii.hpp"

namespace onceguard::base {

using onceguard::field;

/// Whether applications see the same name: CGI, WSGI and Rack make one variable of `X-Tenant` and
/// `X_Tenant`.
[[nodiscard]] constexpr bool same_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const char left = a[i] == '_' ? '-' : ascii_lower(a[i]);
    const char right = b[i] == '_' ? '-' : ascii_lower(b[i]);
    if (left != right) return false;
  }
  return true;
}

/// The first field with that name, or null.
[[nodiscard]] constexpr const field* find_field(std::span<const field> fields,
                                                std::string_view name) noexcept {
  for (const auto& f : fields) {
    if (iequals(f.name, name)) return &f;
  }
  return nullptr;
}

/// A field that must be there once.
struct sole_field {
  std::string_view value;
  std::size_t times = 0;
  bool misspelt = false;  ///< another field has a name that applications may take for the same
};

[[nodiscard]] constexpr sole_field find_once(std::span<const field> fields, std::string_view name) {
  sole_field out;
  for (const auto& f : fields) {
    if (!same_name(f.name, name)) continue;
    if (!iequals(f.name, name)) {
      out.misspelt = true;
    } else if (out.times++ == 0) {
      out.value = f.value;
    }
  }
  return out;
}

/// Calls `visit(token)` for each non-empty element of a comma-separated list.
template <class Visit>
constexpr void each_list_element(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto element = trim(list.substr(0, comma));
    if (!element.empty()) visit(element);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace onceguard::base
