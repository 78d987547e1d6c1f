// The wall guard: when a wall clock is trusted after a step, and retention that runs by the boot
// clock.
#include "store/wall_guard.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"

namespace onceguard {
namespace {

constexpr std::int64_t minute = 60'000;
constexpr std::int64_t hour = 60 * minute;

TEST(wall_guard, a_clock_that_drifts_by_minutes_is_trusted) {
  auto guard = wall_guard::after_boot(0, 1'000, 500'000);
  EXPECT_TRUE(guard.trusts(1'000, 500'000));
  EXPECT_TRUE(guard.trusts(2'000, 501'000 + 5 * minute));
  EXPECT_TRUE(guard.trusts(2'000, 501'000 - 5 * minute));
}

TEST(wall_guard, a_step_of_more_than_five_minutes_either_way_is_not_trusted) {
  for (const auto step : {5 * minute + 1, -5 * minute - 1}) {
    auto guard = wall_guard::after_boot(0, 0, 10 * hour);
    EXPECT_FALSE(guard.trusts(0, 10 * hour + step));
  }
}

TEST(wall_guard, a_stepped_clock_is_trusted_only_after_an_hour_at_the_new_distance) {
  auto guard = wall_guard::after_boot(0, 0, 0);
  EXPECT_FALSE(guard.trusts(0, 24 * hour));
  EXPECT_FALSE(guard.trusts(hour - 1, 25 * hour - 1));
  EXPECT_TRUE(guard.trusts(hour, 25 * hour));
  EXPECT_TRUE(guard.trusts(2 * hour, 26 * hour));
  EXPECT_FALSE(guard.trusts(3 * hour, 50 * hour));
}

TEST(wall_guard, each_further_step_starts_the_hour_again) {
  auto guard = wall_guard::after_boot(0, 0, 0);
  EXPECT_FALSE(guard.trusts(0, 24 * hour));
  EXPECT_FALSE(guard.trusts(hour / 2, 48 * hour));
  EXPECT_FALSE(guard.trusts(hour, 48 * hour + hour / 2));
  EXPECT_TRUE(guard.trusts(hour + hour / 2, 49 * hour));
}

TEST(wall_guard, a_step_that_is_taken_back_restores_trust_at_once) {
  auto guard = wall_guard::after_boot(0, 0, 0);
  EXPECT_FALSE(guard.trusts(0, 24 * hour));
  EXPECT_TRUE(guard.trusts(1, 1));
  EXPECT_FALSE(guard.trusts(hour, 25 * hour));  // the hour starts again
  EXPECT_FALSE(guard.memory() == wall_guard::after_boot(0, 0, 0).memory());
}

TEST(wall_guard, retention_runs_by_the_boot_clock_whatever_the_wall_clock_does) {
  auto guard = wall_guard::after_boot(0, 1'000, 10 * hour);
  for (const auto wall : {10 * hour, 82 * hour, 0 * hour, 500 * hour}) {
    static_cast<void>(guard.trusts(2'000, wall));
    static_cast<void>(guard.trusts(2'000 + hour, wall + hour));
    EXPECT_EQ(guard.retention_time(2'000), 10 * hour + 1'000);
  }
}

TEST(wall_guard, retention_continues_over_a_boot_and_a_clock_that_went_back_is_not_trusted) {
  auto ahead = wall_guard::after_boot(10 * hour, 0, 100 * hour);
  EXPECT_TRUE(ahead.trusts(0, 100 * hour));
  EXPECT_EQ(ahead.retention_time(minute), 10 * hour + minute);
  EXPECT_FALSE(ahead.trusts(minute, 50 * hour));  // another step
  auto behind = wall_guard::after_boot(10 * hour, 0, 0);
  EXPECT_FALSE(behind.trusts(0, 0));
  EXPECT_TRUE(behind.trusts(minute, 10 * hour));
  EXPECT_EQ(behind.retention_time(minute), 10 * hour + minute);
}

TEST(wall_guard, the_lead_of_the_wall_clock_is_reported_in_whole_seconds) {
  base::manual_clock clock(10 * hour);
  const auto ahead = [&clock](std::int64_t position) {
    instant now;
    now.wall = clock.wall_ms() - position;
    return wall_ahead(clock, now);
  };
  for (const auto second : {0, 1'000, -1'000, 60'000, -60'000}) {
    for (const auto off : {0, 1, -1, 499, -499}) EXPECT_EQ(ahead(second + off), second) << off;
  }
}

}  // namespace
}  // namespace onceguard
