#include "store/redis/arguments.hpp"

#include <algorithm>

#include "store/redis/stored.hpp"

namespace onceguard::redis {
namespace {

// Lua's numbers are exact up to here.
constexpr token token_max = (token{1} << 53) - 2;
// Some 3,000 years: sums of it stay exact.
constexpr std::int64_t duration_max = 100'000'000'000'000;

}  // namespace

decimal text_of(milliseconds length) {
  return decimal(std::clamp<std::int64_t>(length.count(), 0, duration_max));
}

std::optional<error> too_large(const subject& about) {
  for (const auto* text : {&about.print.method, &about.scope_kind, &about.key, &about.method,
                           &about.path, &about.route}) {
    if (text->size() > subject_text_max) {
      return error(errc::invalid_argument,
                   "redis store: a text of the subject is over 65535 bytes");
    }
  }
  return std::nullopt;
}

std::optional<error> too_large(token given) {
  if (given <= token_max) return std::nullopt;
  return error(errc::invalid_argument, "redis store: no such token was ever given");
}

}  // namespace onceguard::redis
