// Shared by the files of options: units, and access to a parsed value by its kind.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <onceguard/record.hpp>

#include "config/option.hpp"

namespace onceguard::config::values {

inline constexpr std::int64_t second = 1'000;
inline constexpr std::int64_t minute = 60 * second;
inline constexpr std::int64_t hour = 60 * minute;
inline constexpr std::int64_t day = 24 * hour;
inline constexpr std::int64_t kib = 1 << 10;
inline constexpr std::int64_t mib = 1 << 20;
inline constexpr std::int64_t gib = 1 << 30;

inline std::int64_t number(const option_value& v) { return std::get<std::int64_t>(v); }
inline std::size_t size(const option_value& v) { return static_cast<std::size_t>(number(v)); }
inline milliseconds duration(const option_value& v) { return milliseconds(number(v)); }
inline const std::string& text(const option_value& v) { return std::get<std::string>(v); }
inline const std::vector<std::string>& list(const option_value& v) {
  return std::get<std::vector<std::string>>(v);
}

}  // namespace onceguard::config::values
