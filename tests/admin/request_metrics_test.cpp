#include "admin/request_metrics.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

using http::request_outcome;
using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::string label(const ClientMetric& metric, const std::string& name) {
  for (const auto& one : metric.label) {
    if (one.name == name) return one.value;
  }
  return {};
}

const MetricFamily& family(const std::vector<MetricFamily>& all, const std::string& name) {
  for (const auto& one : all) {
    if (one.name == name) return one;
  }
  throw std::logic_error("no family " + name);
}

double requests(const request_metrics& metrics, const std::string& route,
                const std::string& outcome) {
  const auto all = metrics.Collect();
  for (const auto& one : family(all, "onceguard_requests_total").metric) {
    if (label(one, "route") == route && label(one, "outcome") == outcome) return one.counter.value;
  }
  return -1;
}

http::request_report report_of(std::string_view route, std::size_t index = 0) {
  http::request_report out;
  out.outcome = request_outcome::ran;
  out.route = route;
  out.route_index = index;
  return out;
}

TEST(request_metrics_test, refusals_are_counted_by_route_and_by_the_type_of_the_problem) {
  request_metrics metrics;
  metrics.finished(report_of("/a"));
  EXPECT_TRUE(metrics.refusals_by_route().at("/a").empty());
  auto refused = report_of("/a");
  refused.outcome = request_outcome::refused;
  refused.problem = "key-missing";
  metrics.finished(refused);
  metrics.finished(refused);
  auto busy = report_of("/a");
  busy.outcome = request_outcome::busy;
  busy.problem = "in-progress";
  metrics.finished(busy);
  auto unreachable = report_of("/b", 1);  // it ran, and no upstream answered
  unreachable.problem = "upstream-unreachable";
  metrics.finished(unreachable);
  const auto found = metrics.refusals_by_route();
  ASSERT_EQ(found.at("/a").size(), 2u);
  EXPECT_EQ(found.at("/a")[0].why, http::problem::in_progress);
  EXPECT_EQ(found.at("/a")[0].count, 1u);
  EXPECT_EQ(found.at("/a")[1].why, http::problem::key_missing);
  EXPECT_EQ(found.at("/a")[1].count, 2u);
  EXPECT_GT(found.at("/a")[1].began_wall, 0);
  EXPECT_GE(found.at("/a")[1].last_wall, found.at("/a")[1].began_wall);
  EXPECT_TRUE(found.at("/b").empty());
  const auto all = metrics.Collect();
  const auto& series = family(all, "onceguard_refusals_total").metric;
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(label(series[1], "problem"), "key-missing");
  EXPECT_EQ(series[1].counter.value, 2);
}

TEST(request_metrics_test, the_counts_of_all_threads_are_one_sum) {
  request_metrics metrics;
  constexpr int threads = 12;
  constexpr int rounds = 1'000;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&metrics] {
      for (int n = 0; n < rounds; ++n) metrics.finished(report_of("/a"));
    });
  }
  for (auto& one : running) one.join();
  EXPECT_EQ(requests(metrics, "/a", "ran"), threads * rounds);
  EXPECT_EQ(requests(metrics, "/a", "busy"), 0);
}

TEST(request_metrics_test, a_route_keeps_its_counts_when_a_reload_moves_it) {
  request_metrics metrics;
  metrics.finished(report_of("/a", 0));
  metrics.finished(report_of("/b", 0));
  metrics.finished(report_of("/a", 1));
  EXPECT_EQ(requests(metrics, "/a", "ran"), 2);
  EXPECT_EQ(requests(metrics, "/b", "ran"), 1);
}

TEST(request_metrics_test, routes_beyond_the_limit_count_together) {
  request_metrics metrics;
  for (std::size_t i = 0; i < request_metrics::routes_max + 5; ++i) {
    metrics.finished(report_of("/" + std::to_string(i), i));
  }
  EXPECT_EQ(requests(metrics, "/0", "ran"), 1);
  EXPECT_EQ(requests(metrics, "(more)", "ran"), 5);
}

TEST(request_metrics_test, a_request_without_a_route_counts_as_that) {
  request_metrics metrics;
  metrics.finished(report_of(""));
  EXPECT_EQ(requests(metrics, "(none)", "ran"), 1);
}

TEST(request_metrics_test, a_time_counts_in_each_bucket_that_holds_it) {
  request_metrics metrics;
  auto report = report_of("/a");
  for (const int time_us : {500, 501, 70'000'000}) {
    report.claim = std::chrono::microseconds(time_us);
    metrics.finished(report);
  }
  const auto all = metrics.Collect();
  const auto& claims = family(all, "onceguard_claim_seconds").metric.at(0).histogram;
  EXPECT_EQ(claims.bucket.at(0).cumulative_count, 1u);
  EXPECT_EQ(claims.bucket.at(1).cumulative_count, 2u);
  EXPECT_EQ(claims.bucket.back().cumulative_count, 3u);
  EXPECT_EQ(claims.sample_count, 3u);
  EXPECT_DOUBLE_EQ(claims.sample_sum, 70.001001);
}

TEST(request_metrics_test, a_step_that_was_not_taken_has_no_time) {
  request_metrics metrics;
  metrics.finished(report_of("/a"));
  const auto all = metrics.Collect();
  EXPECT_EQ(family(all, "onceguard_settle_seconds").metric.at(0).histogram.sample_count, 0u);
  EXPECT_EQ(family(all, "onceguard_request_seconds").metric.at(0).histogram.sample_count, 1u);
}

}  // namespace
}  // namespace onceguard::admin
