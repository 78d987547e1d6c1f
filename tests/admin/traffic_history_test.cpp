#include "admin/traffic_history.hpp"

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

using http::request_outcome;

void finish(request_metrics& metrics, request_outcome outcome, std::chrono::microseconds time) {
  http::request_report report;
  report.outcome = outcome;
  report.route = "/";
  report.total = time;
  metrics.finished(report);
}

std::uint64_t count(const traffic_sample& sample, request_outcome outcome) {
  return sample.added.outcomes[static_cast<std::size_t>(outcome)];
}

TEST(traffic_history, a_sample_has_what_was_added_since_the_one_before) {
  request_metrics metrics;
  traffic_history history(metrics);
  finish(metrics, request_outcome::ran, std::chrono::microseconds(700));
  finish(metrics, request_outcome::replayed, std::chrono::microseconds(100));
  history.take_sample(1'000);
  finish(metrics, request_outcome::ran, std::chrono::microseconds(700));
  history.take_sample(2'000);
  const auto all = history.later_than(0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at_wall, 1'000);
  EXPECT_EQ(count(all[0], request_outcome::ran), 1u);
  EXPECT_EQ(count(all[0], request_outcome::replayed), 1u);
  EXPECT_EQ(count(all[1], request_outcome::ran), 1u);
  EXPECT_EQ(count(all[1], request_outcome::replayed), 0u);
  EXPECT_EQ(all[1].added.times[0][1], 1u);
  EXPECT_EQ(all[1].added.times[0][0], 0u);
  ASSERT_EQ(history.later_than(1).size(), 1u);
  EXPECT_EQ(history.later_than(1)[0].number, 2u);
  EXPECT_TRUE(history.later_than(2).empty());
}

TEST(traffic_history, an_hour_is_kept) {
  request_metrics metrics;
  traffic_history history(metrics);
  for (std::int64_t i = 1; i <= 400; ++i) history.take_sample(i);
  const auto all = history.later_than(0);
  ASSERT_EQ(all.size(), traffic_history::number_max);
  EXPECT_EQ(all.front().number, 41u);
  EXPECT_EQ(all.back().number, 400u);
}

TEST(quantile, is_interpolated_within_its_bucket) {
  time_counts times{};
  EXPECT_EQ(quantile_us(times, 0.5), 0);
  times[1] = 10;  // 500 to 1,000 us
  EXPECT_DOUBLE_EQ(quantile_us(times, 0.5), 750);
  times[0] = 10;  // to 500 us
  EXPECT_DOUBLE_EQ(quantile_us(times, 0.5), 500);
  EXPECT_DOUBLE_EQ(quantile_us(times, 0.25), 250);
  times[time_bounds_us.size()] = 80;  // beyond all bounds: the largest is what is known
  EXPECT_DOUBLE_EQ(quantile_us(times, 0.99), 60e6);
}

}  // namespace
}  // namespace onceguard::admin
