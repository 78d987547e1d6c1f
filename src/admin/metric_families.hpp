// Makes families of metrics.
#pragma once
#include <prometheus/metric_family.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceguard::admin {

using labels = std::vector<std::pair<std::string_view, std::string_view>>;

[[nodiscard]] inline prometheus::MetricFamily make_family(std::string name, std::string help,
                                                          prometheus::MetricType type) {
  return {std::move(name), std::move(help), type, {}};
}
[[nodiscard]] inline prometheus::MetricFamily counter_family(std::string name, std::string help) {
  return make_family(std::move(name), std::move(help), prometheus::MetricType::Counter);
}
[[nodiscard]] inline prometheus::MetricFamily gauge_family(std::string name, std::string help) {
  return make_family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
}
[[nodiscard]] inline prometheus::MetricFamily histogram_family(std::string name, std::string help) {
  return make_family(std::move(name), std::move(help), prometheus::MetricType::Histogram);
}

/// Adds one series to a family of counters or gauges.
inline void add_value(prometheus::MetricFamily& family, double value, const labels& given = {}) {
  prometheus::ClientMetric one;
  for (const auto& [name, text] : given) {
    one.label.push_back({std::string(name), std::string(text)});
  }
  (family.type == prometheus::MetricType::Counter ? one.counter.value : one.gauge.value) = value;
  family.metric.push_back(std::move(one));
}

}  // namespace onceguard::admin
