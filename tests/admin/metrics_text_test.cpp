// Prometheus' own text form says the same, line by line.
#include "admin/metrics_text.hpp"

#include <limits>
#include <prometheus/text_serializer.h>

#include <gtest/gtest.h>

#include "admin/metric_families.hpp"

namespace onceguard::admin {
namespace {

std::string by_the_library(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

TEST(metrics_text_test, counters_and_gauges_are_as_the_library_writes_them) {
  auto counter = counter_family("requests_total", "Requests, by outcome.");
  add_value(counter, 0, {{"route", "a"}, {"outcome", "ran"}});
  add_value(counter, 123456789012, {{"route", "quote \" slash \\ line \n end"}});
  auto gauge = gauge_family("age_seconds", "");
  for (const double each : {0.25, -1.5, 1e6, 0.1, 1234.5678, 3.0}) add_value(gauge, each);
  add_value(gauge, std::numeric_limits<double>::infinity(), {{"of", ""}});
  add_value(gauge, -std::numeric_limits<double>::infinity());
  const std::vector families{counter, gauge, gauge_family("empty", "Nothing is there.")};
  EXPECT_EQ(metrics_text(families), by_the_library(families));
}

TEST(metrics_text_test, histograms_are_as_the_library_writes_them) {
  auto family = histogram_family("seconds", "How long.");
  auto& open = family.metric.emplace_back();
  open.label = {{"route", "a"}};
  open.histogram = {.sample_count = 7, .sample_sum = 1.75, .bucket = {{2, 0.001}, {6, 2.5}}};
  auto& closed = family.metric.emplace_back();
  closed.histogram = {.sample_count = 3,
                      .sample_sum = 0.5,
                      .bucket = {{1, 1}, {3, std::numeric_limits<double>::infinity()}}};
  family.metric.emplace_back();
  const std::vector families{family};
  EXPECT_EQ(metrics_text(families), by_the_library(families));
}

/// What is not whole is read back as the same number, and what no number is has its own word.
TEST(metrics_text_test, no_digit_of_a_value_is_lost) {
  auto gauge = gauge_family("g", "");
  for (const double each : {1.0 / 3, 1e-9, 1.7e300, 9007199254740993.0, -0.1}) {
    gauge.metric.clear();
    add_value(gauge, each);
    const auto text = metrics_text({gauge});
    EXPECT_EQ(std::stod(text.substr(text.rfind(' '))), each) << text;
  }
  gauge.metric.clear();
  add_value(gauge, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(metrics_text({gauge}), "# TYPE g gauge\ng NaN\n");
}

}  // namespace
}  // namespace onceguard::admin
