// What the kernel says of this process, for the metrics.
#pragma once
#include <prometheus/metric_family.h>
#include <vector>

namespace onceguard::admin {

/// The metrics that every client library of Prometheus has: CPU, memory, descriptors, start.
/// A value that /proc does not give is left out.
[[nodiscard]] std::vector<prometheus::MetricFamily> process_families();

}  // namespace onceguard::admin
