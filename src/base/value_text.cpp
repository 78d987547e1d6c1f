#include "base/value_text.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

#include <onceguard/key.hpp>

namespace onceguard::base {
namespace {

struct unit {
  std::string_view name;
  std::int64_t factor;
};
// The largest first, as values are written in the largest unit that fits.
constexpr std::array<unit, 5> duration_units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<unit, 4> size_units{
    {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}};

constexpr auto largest = std::numeric_limits<std::int64_t>::max();

struct measure {
  std::optional<std::int64_t> value;
  bool too_large = false;
};

measure parse_with_unit(std::string_view text, std::span<const unit> units) {
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc::invalid_argument || text.front() == '-') return {};
  const std::string_view name(stop, static_cast<std::size_t>(end - stop));
  for (const auto& u : units) {
    if (u.name != name) continue;
    if (failed != std::errc{} || number > largest / u.factor) return {std::nullopt, true};
    return {number * u.factor, false};
  }
  return {};
}

error too_large(std::string_view text, std::span<const unit> units) {
  const auto& unit = units.front();
  return {errc::invalid_argument, "expected at most " + std::to_string(largest / unit.factor) +
                                      std::string(unit.name) + ", got " + quoted(text)};
}

std::string text_with_unit(std::int64_t value, std::span<const unit> units) {
  for (const auto& u : units) {
    if (value != 0 && value % u.factor == 0) {
      return std::to_string(value / u.factor) + std::string(u.name);
    }
  }
  return "0";
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t shown_max = 80;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + (text.size() > shown_max ? "…\"" : "\"");
}

std::string shown_id(std::string_view id) {
  if (id.size() <= key_size_max) return std::string(id);
  constexpr std::size_t shown_max = 64;
  std::size_t end = shown_max;
  // Not amid a character of UTF-8.
  while (end > shown_max - 4 && (static_cast<unsigned char>(id[end]) & 0xc0) == 0x80) --end;
  return std::string(id.substr(0, end)) + "… (" + std::to_string(id.size()) + " bytes)";
}

namespace {

struct word_for_unit {
  std::string_view word;
  std::string_view unit;
  std::uint64_t times = 1;
};

constexpr std::array<word_for_unit, 16> other_words{{{"msec", "ms"},
                                                     {"millisecond", "ms"},
                                                     {"s", "s"},
                                                     {"sec", "s"},
                                                     {"second", "s"},
                                                     {"m", "m"},
                                                     {"min", "m"},
                                                     {"minute", "m"},
                                                     {"h", "h"},
                                                     {"hr", "h"},
                                                     {"hour", "h"},
                                                     {"d", "d"},
                                                     {"day", "d"},
                                                     {"w", "d", 7},
                                                     {"week", "d", 7},
                                                     {"ms", "ms"}}};

/// What may be meant by "1 day", "24HOURS" or "weekly"; empty: nobody knows.
std::string meant_duration(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c != ' ') word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (word == "daily") return "1d";
  if (word == "hourly") return "1h";
  if (word == "weekly") return "7d";
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  constexpr std::uint64_t most = 1'000'000'000;
  if (failed != std::errc() || number > most) return {};
  std::string_view unit(end);
  if (unit.size() > 2 && unit.ends_with('s')) unit.remove_suffix(1);
  for (const auto& known : other_words) {
    if (unit == known.word) return std::to_string(number * known.times) + std::string(known.unit);
  }
  return {};
}

}  // namespace

result<milliseconds> parse_duration(std::string_view text) {
  if (!text.empty()) {
    const auto read = parse_with_unit(text, duration_units);
    if (read.value) return milliseconds(*read.value);
    if (read.too_large) return too_large(text, duration_units);
  }
  const auto meant = meant_duration(text);
  return onceguard::error(
      errc::invalid_argument,
      "expected a duration such as \"250ms\", \"30s\", \"1m\", \"24h\" or \"7d\", got " +
          quoted(text) + (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
}

std::string duration_text(milliseconds value) {
  return value.count() == 0 ? "0s" : text_with_unit(value.count(), duration_units);
}

result<std::int64_t> parse_size(std::string_view text) {
  if (!text.empty()) {
    const auto read = parse_with_unit(text, size_units);
    if (read.value) return *read.value;
    if (read.too_large) return too_large(text, size_units);
  }
  return onceguard::error(
      errc::invalid_argument,
      "expected a size such as \"512\", \"64KiB\", \"1MiB\" or \"2GiB\", got " + quoted(text));
}

std::string size_text(std::int64_t bytes) { return text_with_unit(bytes, size_units); }

}  // namespace onceguard::base
