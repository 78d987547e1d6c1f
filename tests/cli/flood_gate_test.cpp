#include "cli/flood_gate.hpp"

#include <gtest/gtest.h>

namespace onceguard::cli {
namespace {

using std::chrono::milliseconds;

TEST(flood_gate, lets_so_many_lines_of_one_event_through_in_a_second) {
  flood_gate gate;
  const flood_gate::time_point begin{};
  for (std::uint64_t i = 0; i < flood_gate::most_a_second; ++i) {
    EXPECT_TRUE(gate.look("store-unreachable", begin + milliseconds(i)).pass);
  }
  EXPECT_FALSE(gate.look("store-unreachable", begin + milliseconds(999)).pass);
  EXPECT_TRUE(gate.look("listening", begin + milliseconds(999)).pass);
  EXPECT_TRUE(gate.look("store-unreachable", begin + milliseconds(1'000)).pass);
}

TEST(flood_gate, says_once_how_many_were_left_out) {
  flood_gate gate;
  const flood_gate::time_point begin{};
  for (std::uint64_t i = 0; i < flood_gate::most_a_second + 7; ++i) {
    EXPECT_EQ(gate.look("store-unreachable", begin).left_out, 0u);
  }
  EXPECT_EQ(gate.look("store-unreachable", begin + milliseconds(5'000)).left_out, 7u);
  EXPECT_EQ(gate.look("store-unreachable", begin + milliseconds(5'001)).left_out, 0u);
  EXPECT_EQ(gate.look("store-unreachable", begin + milliseconds(9'000)).left_out, 0u);
}

}  // namespace
}  // namespace onceguard::cli
