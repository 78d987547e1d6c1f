#include <array>
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/log/log_lines.hpp"

namespace onceguard::cli::log {
namespace {

using std::chrono::milliseconds;

class rate_limit : public testing::Test {
 protected:
  [[nodiscard]] bool passes(std::string_view event, int after_ms) {
    return limit.passes(event, begin + milliseconds(after_ms));
  }
  void burst(std::string_view event, int after_ms, std::uint64_t left_out) {
    for (std::uint64_t i = 0; i < log_rate_limit::most_a_second + left_out; ++i) {
      EXPECT_EQ(passes(event, after_ms), i < log_rate_limit::most_a_second);
    }
  }
  /// "event:lines " of each.
  [[nodiscard]] std::string missing(int after_ms) {
    std::string out;
    for (const auto& one : limit.take_missing(begin + milliseconds(after_ms))) {
      out.append(one.event).append(":").append(std::to_string(one.lines)).append(" ");
    }
    return out;
  }

  log_rate_limit limit;
  const log_rate_limit::time_point begin{};
};

TEST_F(rate_limit, lets_so_many_lines_of_one_event_through_in_a_second) {
  burst("store-unreachable", 0, 0);
  EXPECT_FALSE(passes("store-unreachable", 999));
  EXPECT_TRUE(passes("listening", 999));
  EXPECT_TRUE(passes("store-unreachable", 1'000));
}

TEST_F(rate_limit, reports_once_what_was_left_out_when_its_second_is_over) {
  EXPECT_EQ(limit.due(), log_rate_limit::time_point::max());
  burst("a", 0, 7);
  burst("b", 500, 2);
  EXPECT_EQ(limit.due(), begin + milliseconds(1'000));
  EXPECT_EQ(missing(999), "");
  EXPECT_EQ(missing(1'000), "a:7 ");
  EXPECT_EQ(limit.due(), begin + milliseconds(1'500));
  EXPECT_EQ(missing(5'000), "b:2 ");
  EXPECT_EQ(missing(9'000), "");
  EXPECT_EQ(limit.due(), log_rate_limit::time_point::max());
}

TEST_F(rate_limit, a_new_burst_delays_no_report) {
  burst("a", 0, 7);
  burst("a", 1'000, 1);
  EXPECT_EQ(missing(1'000), "a:8 ");
}

TEST(log_lines, the_end_reports_what_a_lone_burst_left_out) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  {
    log_lines lines({}, ends[1]);
    const auto& info = base::info_of(base::event::upstream_unreachable);
    ASSERT_TRUE(info.recurring);
    for (std::uint64_t i = 0; i < log_rate_limit::most_a_second + 3; ++i) {
      lines.write(info, info.level, {});
    }
  }
  std::string text(64 * 1'024, '\0');
  const auto size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_GT(size, 0);
  text.resize(static_cast<std::size_t>(size));
  EXPECT_NE(text.find(R"("event_left_out":"upstream-unreachable","count":3})"), text.npos) << text;
}

}  // namespace
}  // namespace onceguard::cli::log
