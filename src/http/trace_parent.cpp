#include "http/trace_parent.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::http {
namespace {

// version "-" trace-id "-" parent-id "-" flags
constexpr std::size_t whole_size = 55;
constexpr unsigned sampled_flag = 1;

/// Upper case is malformed.
bool is_lower(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

template <std::size_t Size>
bool read_id(std::string_view text, std::array<unsigned char, Size>& out) noexcept {
  return base::from_hex(text, out) && out != std::array<unsigned char, Size>{};
}

std::optional<trace_parent> parse(std::string_view value) {
  if (value.size() < whole_size || !is_lower(value)) return std::nullopt;
  std::array<unsigned char, 1> version{};
  std::array<unsigned char, 1> flags{};
  if (!base::from_hex(value.substr(0, 2), version) || version[0] == 0xff) return std::nullopt;
  // Later versions may append further parts.
  const bool longer = value.size() > whole_size;
  if (longer && (version[0] == 0 || value[whole_size] != '-')) return std::nullopt;
  if (value[2] != '-' || value[35] != '-' || value[52] != '-') return std::nullopt;
  trace_parent out;
  const bool valid = read_id(value.substr(3, 32), out.trace) &&
                     read_id(value.substr(36, 16), out.span) &&
                     base::from_hex(value.substr(53, 2), flags);
  if (!valid) return std::nullopt;
  out.sampled = (flags[0] & sampled_flag) != 0;
  return out;
}

}  // namespace

std::optional<trace_parent> find_trace_parent(std::span<const base::field> fields) {
  const base::field* found = nullptr;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, trace_parent_field)) continue;
    if (found != nullptr) return std::nullopt;
    found = &f;
  }
  return found == nullptr ? std::nullopt : parse(found->value);
}

std::string request_trace::parent_field() const {
  std::string out = "00-";
  base::append_hex(out, trace);
  out += '-';
  base::append_hex(out, upstream);
  return out += sampled ? "-01" : "-00";
}

}  // namespace onceguard::http
