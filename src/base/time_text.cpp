#include "base/time_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace onceguard::base {
namespace {

void append_two_digits(std::string& out, unsigned number) {
  out.push_back(static_cast<char>('0' + number / 10 % 10));
  out.push_back(static_cast<char>('0' + number % 10));
}

/// "Sun, 06 Nov 1994 08:49:37 GMT"; empty for years that have not four digits.
std::string format_date(std::int64_t wall_seconds) {
  static constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed",
                                                           "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> months = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds point{std::chrono::seconds{wall_seconds}};
  const auto day = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{point - day};
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) return {};
  std::string line(days[std::chrono::weekday{day}.c_encoding()]);
  line += ", ";
  append_two_digits(line, static_cast<unsigned>(date.day()));
  line += ' ';
  line += months[static_cast<unsigned>(date.month()) - 1];
  line += ' ';
  append_two_digits(line, static_cast<unsigned>(year) / 100);
  append_two_digits(line, static_cast<unsigned>(year) % 100);
  line += ' ';
  append_two_digits(line, static_cast<unsigned>(time.hours().count()));
  line += ':';
  append_two_digits(line, static_cast<unsigned>(time.minutes().count()));
  line += ':';
  append_two_digits(line, static_cast<unsigned>(time.seconds().count()));
  line += " GMT";
  return line;
}

}  // namespace

std::string time_text(std::int64_t wall_ms) {
  if (wall_ms == 0) return {};
  const auto seconds = static_cast<std::time_t>(wall_ms / 1'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  std::array<char, 64> out{};
  const auto length = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string text(out.data(), length);
  std::snprintf(out.data(), out.size(), ".%03dZ", static_cast<int>(wall_ms % 1'000));
  return text + out.data();
}

std::string_view http_date(std::int64_t wall_seconds) {
  thread_local std::int64_t formatted_at = 0;
  thread_local std::string text;
  if (text.empty() || formatted_at != wall_seconds) {
    text = format_date(wall_seconds);
    formatted_at = wall_seconds;
  }
  return text;
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  int fraction = 0;
  if (rest == nullptr || std::sscanf(rest, ".%3dZ", &fraction) != 1) return std::nullopt;
  const auto wall_ms = std::int64_t{::timegm(&parts)} * 1'000 + fraction;
  // strptime takes more: spaces, days that a month lacks, and texts with something behind them.
  return time_text(wall_ms) == text ? std::optional(wall_ms) : std::nullopt;
}

}  // namespace onceguard::base
