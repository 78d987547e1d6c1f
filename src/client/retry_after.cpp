#include "client/retry_after.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/number_in.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

constexpr std::int64_t longest_ms = 366LL * 24 * 3'600 * 1'000;
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> number_in_date(std::string_view text) { return base::number_in<int>(text, 0); }

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The words of a date; its commas and hyphens count as spaces.
std::vector<std::string_view> words_of_date(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const auto first = text.find_first_not_of(" ,-");
    if (first == text.npos) return out;
    text.remove_prefix(first);
    const auto size = std::min(text.find_first_of(" ,-"), text.size());
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

struct date_words {
  std::string_view day, month, year, time;
};

/// "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994".
std::optional<date_words> date_of(std::string_view text) {
  const auto words = words_of_date(text);
  if (words.size() == 6 && words[5] == "GMT")
    return date_words{words[1], words[2], words[3], words[4]};
  if (words.size() == 5) return date_words{words[2], words[1], words[4], words[3]};
  return std::nullopt;
}

std::optional<int> year_of(std::string_view text, std::int64_t wall_ms) {
  auto value = number_in_date(text);
  if (!value || text.size() != 2) return value;
  // Two digits that seem to be more than 50 years ahead are of the past (RFC 9110, 5.6.7).
  const std::chrono::sys_time<milliseconds> now{milliseconds(wall_ms)};
  const int present =
      int(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(now)).year());
  const int whole = present / 100 * 100 + *value;
  return whole > present + 50 ? whole - 100 : whole;
}

std::optional<std::int64_t> date_ms(std::string_view text, std::int64_t wall_ms) {
  const auto words = date_of(text);
  if (!words || words->time.size() != 8 || words->time[2] != ':' || words->time[5] != ':') {
    return std::nullopt;
  }
  const auto month = std::ranges::find(months, words->month);
  const auto day = number_in_date(words->day);
  const auto year = year_of(words->year, wall_ms);
  const auto hour = number_in_date(words->time.substr(0, 2));
  const auto minute = number_in_date(words->time.substr(3, 2));
  const auto second = number_in_date(words->time.substr(6, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60 || *day > 31 || *year > 9'999) {
    return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date(std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
                            std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const auto moment = sys_days(date) + hours(*hour) + minutes(*minute) + seconds(*second);
  return duration_cast<milliseconds>(moment.time_since_epoch()).count();
}

}  // namespace

std::optional<milliseconds> retry_after(std::string_view text, std::int64_t wall_ms) {
  if (all_digits(text)) {
    const auto seconds = base::number_in<std::int64_t>(text, 0, longest_ms / 1'000);
    return milliseconds(seconds ? *seconds * 1'000 : longest_ms);
  }
  const auto date = date_ms(text, wall_ms);
  if (!date) return std::nullopt;
  return milliseconds(std::clamp<std::int64_t>(*date - wall_ms, 0, longest_ms));
}

}  // namespace v1
}  // namespace onceguard::client
