#include "base/time_text.hpp"

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

TEST(time_text, is_in_utc_with_milliseconds) {
  EXPECT_EQ(time_text(0), "");
  EXPECT_EQ(time_text(1'700'000'000'007), "2023-11-14T22:13:20.007Z");
}

TEST(time_text, is_read_back) {
  for (const std::int64_t wall_ms :
       {std::int64_t{1}, std::int64_t{250}, std::int64_t{1'769'860'800'250}}) {
    EXPECT_EQ(parse_time(time_text(wall_ms)), wall_ms) << time_text(wall_ms);
  }
}

TEST(time_text, of_another_form_is_none) {
  for (const auto* text : {"", "2026-01-31", "2026-01-31T12:00:00Z", "2026-13-31T12:00:00.000Z",
                           "2026-01-31T12:00:00.25Z", "2026-01-31T12:00:00.250Z+"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace onceguard::base
