// The metrics of observe mode.
#pragma once
#include <prometheus/metric_family.h>
#include <vector>

#include "observing/observation.hpp"

namespace onceguard::admin {

/// Nothing in them until a route observes.
[[nodiscard]] std::vector<prometheus::MetricFamily> observed_families(
    const observing::observation& observed);

}  // namespace onceguard::admin
