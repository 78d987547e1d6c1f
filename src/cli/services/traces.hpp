// The traces of a gateway, as the environment asks for them.
#pragma once
#include <memory>

#include "gateway/span_exporter.hpp"
#include "trace/tracer.hpp"

namespace onceguard::cli::services {

/// Must outlive the gateway whose requests it traces.
struct traces {
  explicit traces(const trace::trace_settings& settings);

  trace::span_queue queue;
  trace::tracer tracer;
  gateway::span_exporter exporter;
};

/// Null if no collector is named. Logs the variables that are not used.
[[nodiscard]] std::unique_ptr<traces> make_traces();

}  // namespace onceguard::cli::services
