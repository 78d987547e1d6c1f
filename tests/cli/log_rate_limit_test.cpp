#include <gtest/gtest.h>

#include "cli/log_lines.hpp"

namespace onceguard::cli {
namespace {

using std::chrono::milliseconds;

TEST(log_rate_limit, lets_so_many_lines_of_one_event_through_in_a_second) {
  log_rate_limit limit;
  const log_rate_limit::time_point begin{};
  for (std::uint64_t i = 0; i < log_rate_limit::most_a_second; ++i) {
    EXPECT_TRUE(limit.decide("store-unreachable", begin + milliseconds(i)).pass);
  }
  EXPECT_FALSE(limit.decide("store-unreachable", begin + milliseconds(999)).pass);
  EXPECT_TRUE(limit.decide("listening", begin + milliseconds(999)).pass);
  EXPECT_TRUE(limit.decide("store-unreachable", begin + milliseconds(1'000)).pass);
}

TEST(log_rate_limit, says_once_how_many_were_left_out) {
  log_rate_limit limit;
  const log_rate_limit::time_point begin{};
  for (std::uint64_t i = 0; i < log_rate_limit::most_a_second + 7; ++i) {
    EXPECT_EQ(limit.decide("store-unreachable", begin).left_out, 0u);
  }
  EXPECT_EQ(limit.decide("store-unreachable", begin + milliseconds(5'000)).left_out, 7u);
  EXPECT_EQ(limit.decide("store-unreachable", begin + milliseconds(5'001)).left_out, 0u);
  EXPECT_EQ(limit.decide("store-unreachable", begin + milliseconds(9'000)).left_out, 0u);
}

}  // namespace
}  // namespace onceguard::cli
