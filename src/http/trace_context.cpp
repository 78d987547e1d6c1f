#include "http/trace_context.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/hex.hpp"

namespace onceguard::http {
namespace {

// version "-" trace-id "-" parent-id "-" flags
constexpr std::size_t trace_begin = 3, trace_size = 32;
constexpr std::size_t parent_begin = 36, parent_size = 16;
constexpr std::size_t flags_begin = 53, flags_size = 2;
constexpr std::size_t whole_size = 55;
constexpr unsigned sampled_flag = 1;

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_trace_parent(std::string_view value) noexcept {
  if (value.size() < whole_size) return false;
  const auto version = value.substr(0, 2);
  if (!is_hex(version) || version == "ff") return false;
  if (value[2] != '-' || value[parent_begin - 1] != '-' || value[flags_begin - 1] != '-') {
    return false;
  }
  // Later versions may append further parts.
  if (value.size() > whole_size && (version == "00" || value[whole_size] != '-')) return false;
  return is_id(value.substr(trace_begin, trace_size)) &&
         is_id(value.substr(parent_begin, parent_size)) &&
         is_hex(value.substr(flags_begin, flags_size));
}

/// The value of the field; empty if the field is missing, repeated or malformed.
std::string_view find_value(std::span<const base::field> fields) noexcept {
  const base::field* found = nullptr;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, trace_parent_field)) continue;
    if (found != nullptr) return {};
    found = &f;
  }
  return found != nullptr && is_trace_parent(found->value) ? found->value : std::string_view{};
}

}  // namespace

std::string_view find_trace_id(std::span<const base::field> fields) noexcept {
  const auto value = find_value(fields);
  return value.empty() ? value : value.substr(trace_begin, trace_size);
}

std::optional<trace_parent> find_trace_parent(std::span<const base::field> fields) {
  const auto value = find_value(fields);
  if (value.empty()) return std::nullopt;
  trace_parent out;
  std::array<unsigned char, flags_size / 2> flags{};
  const bool read = base::from_hex(value.substr(trace_begin, trace_size), out.trace) &&
                    base::from_hex(value.substr(parent_begin, parent_size), out.span) &&
                    base::from_hex(value.substr(flags_begin, flags_size), flags);
  if (!read) return std::nullopt;
  out.sampled = (flags[0] & sampled_flag) != 0;
  return out;
}

bool replaced_by(const request_trace& trace, std::string_view field) noexcept {
  return base::same_name(field, trace_parent_field) ||
         (!trace.continued && base::same_name(field, trace_state_field));
}

std::string request_trace::parent_field() const {
  std::string out = "00-";
  base::append_hex(out, trace);
  out += '-';
  base::append_hex(out, upstream);
  return out += sampled ? "-01" : "-00";
}

}  // namespace onceguard::http
