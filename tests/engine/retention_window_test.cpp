// What counts within a retention, and for how long.
#include "engine/retention_window.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class window_of_sixteen_seconds : public ::testing::Test {
 protected:
  retention_window window{seconds(16)};
  base::boot_clock::time_point now = base::boot_clock::time_point(seconds(1'000));

  void add(std::uint64_t bytes = 0) { window.add(bytes, now); }
  [[nodiscard]] std::uint64_t records() { return window.stored(now).records; }
  [[nodiscard]] milliseconds until_less_than(std::uint64_t records) {
    const auto fits = [&](const stored_amount& one) { return one.records < records; };
    return window.wait_until(fits, now).value_or(milliseconds(0));
  }
};

TEST_F(window_of_sixteen_seconds, has_nothing_at_first) {
  EXPECT_EQ(records(), 0u);
  EXPECT_EQ(window.stored(now).bytes, 0u);
}

TEST_F(window_of_sixteen_seconds, counts_each_for_the_retention_and_for_a_part_more_at_most) {
  for (int offset = 0; offset < 40; ++offset) {
    retention_window one{seconds(16)};
    const auto begin = now + milliseconds(137 * offset);
    one.add(5, begin);
    EXPECT_EQ(one.stored(begin + seconds(16)).records, 1u) << offset;
    EXPECT_EQ(one.stored(begin + milliseconds(17'100)).records, 0u) << offset;
    EXPECT_EQ(one.stored(begin + milliseconds(17'100)).bytes, 0u) << offset;
  }
}

TEST_F(window_of_sixteen_seconds, adds_up_over_its_parts) {
  for (int second = 0; second < 10; ++second) {
    add(100);
    now += seconds(1);
  }
  EXPECT_EQ(window.stored(now).records, 10u);
  EXPECT_EQ(window.stored(now).bytes, 1'000u);
}

TEST_F(window_of_sixteen_seconds, forgets_all_after_a_long_pause) {
  for (int second = 0; second < 16; ++second) {
    add();
    now += seconds(1);
  }
  now += hours(1'000);
  EXPECT_EQ(records(), 0u);
  add();
  EXPECT_EQ(records(), 1u);
}

TEST_F(window_of_sixteen_seconds, says_when_there_is_room) {
  add();
  now += seconds(5);
  add();
  add();
  EXPECT_EQ(until_less_than(4), milliseconds(0));
  // The two of one moment go together.
  for (const std::uint64_t less : {3U, 2U}) {
    const auto after = now + until_less_than(less);
    EXPECT_GT(after, now);
    EXPECT_LT(window.stored(after).records, less);
    now = after;
  }
  EXPECT_EQ(records(), 0u);
}

TEST_F(window_of_sixteen_seconds, says_no_time_that_is_too_late) {
  add();
  const auto wait = until_less_than(1);
  EXPECT_GE(wait, seconds(16));
  EXPECT_LE(wait, milliseconds(17'100));
  EXPECT_EQ(window.stored(now + wait - milliseconds(1)).records, 1u);
}

TEST_F(window_of_sixteen_seconds, loses_nothing_to_who_looked_at_the_clock_before) {
  add();
  now -= seconds(40);
  add();
  EXPECT_EQ(records(), 2u);
  now += seconds(40);
  EXPECT_EQ(records(), 2u);
}

TEST(window_of_a_retention, may_be_as_short_or_long_as_a_number_can_say) {
  const auto now = base::boot_clock::time_point(hours(24 * 365 * 10));
  for (const auto retention : {milliseconds(-20), milliseconds(1), milliseconds::max()}) {
    retention_window window(retention);
    window.add(1, now);
    EXPECT_EQ(window.stored(now).records, 1u);
    const auto wait =
        window.wait_until([](const stored_amount& one) { return one.records == 0; }, now);
    ASSERT_TRUE(wait);
    const auto half = now + *wait / 2;
    EXPECT_EQ(window.stored(half).records, 1u);
    EXPECT_EQ(window.stored(half + (*wait - *wait / 2)).records, 0u);
  }
}

}  // namespace
}  // namespace onceguard
