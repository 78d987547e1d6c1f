// GET /metrics: all metrics of the process in the text form of Prometheus.
#pragma once
#include <string>
#include <vector>

#include <onceguard/engine.hpp>

#include "admin/program.hpp"
#include "admin/record_counter.hpp"
#include "admin/request_metrics.hpp"
#include "admin/resource.hpp"
#include "observing/observation.hpp"

namespace onceguard::admin {

/// The labels of onceguard_build_info.
struct build_labels {
  std::string version;
  std::string sqlite;
  std::string store;
};

/// What the metrics are read from. Must outlive the listener.
struct metric_sources {
  const request_metrics& requests;
  const record_counter& records;
  onceguard::engine& engine;
  const program& process;
  const observing::observation& observed;
  build_labels build;
};

[[nodiscard]] resources metric_resources(const metric_sources& sources);

}  // namespace onceguard::admin
