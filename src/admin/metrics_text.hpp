// Families of metrics in Prometheus' text form.
#pragma once
#include <prometheus/metric_family.h>
#include <string>
#include <vector>

namespace onceguard::admin {

constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// Counters, gauges and histograms without times: what this program measures. The text form of the
/// library would bring two shared objects and the C++ runtime's into each start of the program.
[[nodiscard]] std::string metrics_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace onceguard::admin
