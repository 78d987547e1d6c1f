#include "webhook/encodings.hpp"

#include <algorithm>
#include <chrono>
#include <zlib.h>

#include "base/number_in.hpp"
#include "base/octets.hpp"

namespace onceguard::webhook {

namespace {

std::optional<std::int64_t> number_of(std::string_view text, bool leading_zeros = false) {
  if (text.size() > 1 && text.front() == '0' && !leading_zeros) return std::nullopt;
  return base::number_in<std::int64_t>(text, 0);
}

/// Whether the text has the form of `model`, in which 0 stands for any digit.
bool is_like_model(std::string_view text, std::string_view model) {
  return std::equal(text.begin(), text.end(), model.begin(), model.end(),
                    [](char c, char m) { return m == '0' ? base::is_digit(c) : c == m; });
}

}  // namespace

std::optional<std::int64_t> parse_instant(std::string_view text) {
  constexpr std::string_view model = "0000-00-00T00:00:00";
  if (text.find('T') == text.npos) return number_of(text);
  if (!text.ends_with('Z') || !is_like_model(text.substr(0, model.size()), model))
    return std::nullopt;
  const auto fraction = text.substr(model.size(), text.size() - model.size() - 1);
  if (!fraction.empty() && (fraction.size() == 1 || !fraction.starts_with('.') ||
                            !std::all_of(fraction.begin() + 1, fraction.end(), base::is_digit))) {
    return std::nullopt;
  }
  const auto part = [&](std::size_t position, std::size_t size) {
    return static_cast<int>(*number_of(text.substr(position, size), true));
  };
  const std::chrono::year_month_day date(std::chrono::year(part(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(part(8, 2))));
  const int hour = part(11, 2);
  const int minute = part(14, 2);
  const int second = part(17, 2);
  // A leap second is written as 60.
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  constexpr std::int64_t seconds_of_day = 86'400;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const auto out = std::int64_t{days} * seconds_of_day + hour * 3'600 + minute * 60 + second;
  if (out < 0) return std::nullopt;
  return out;
}

std::string sorted_text(form_fields fields) {
  std::sort(fields.begin(), fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  std::string out;
  for (const auto& [name, value] : fields) out.append(name).append(value);
  return out;
}

std::uint32_t crc32_of(std::string_view bytes) noexcept {
  const auto found = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return static_cast<std::uint32_t>(found);
}

}  // namespace onceguard::webhook
