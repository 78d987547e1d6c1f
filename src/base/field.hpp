// Functions for header fields and ASCII text that ignore locales.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include <onceguard/field.hpp>

namespace onceguard::base {

using onceguard::field;

[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Most pairs are equal, or differ in the first byte: compare without case folding first.
    if (a[i] != b[i] && ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}

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

[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The first field with that name, or null.
[[nodiscard]] constexpr const field* find_field(std::span<const field> fields,
                                                std::string_view name) noexcept {
  for (const auto& f : fields) {
    if (iequals(f.name, name)) return &f;
  }
  return nullptr;
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
