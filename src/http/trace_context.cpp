#include "http/trace_context.hpp"

#include <algorithm>

namespace onceguard::http {
namespace {

// version "-" trace-id "-" parent-id "-" flags
constexpr std::size_t trace_begin = 3, trace_size = 32;
constexpr std::size_t parent_begin = 36, parent_size = 16;
constexpr std::size_t flags_begin = 53, flags_size = 2;
constexpr std::size_t whole_size = 55;

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

std::string_view trace_id_of(std::string_view value) noexcept {
  if (value.size() < whole_size) return {};
  const auto version = value.substr(0, 2);
  if (!is_hex(version) || version == "ff") return {};
  if (value[2] != '-' || value[parent_begin - 1] != '-' || value[flags_begin - 1] != '-') return {};
  // Later versions may append further parts.
  if (value.size() > whole_size && (version == "00" || value[whole_size] != '-')) return {};
  const auto trace = value.substr(trace_begin, trace_size);
  const bool valid = is_id(trace) && is_id(value.substr(parent_begin, parent_size)) &&
                     is_hex(value.substr(flags_begin, flags_size));
  return valid ? trace : std::string_view{};
}

}  // namespace

std::string_view find_trace_id(std::span<const base::field> fields) noexcept {
  const base::field* found = nullptr;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, "traceparent")) continue;
    if (found != nullptr) return {};
    found = &f;
  }
  return found == nullptr ? std::string_view{} : trace_id_of(found->value);
}

}  // namespace onceguard::http
