// Sends spans to a collector: OTLP over HTTP, as JSON.
#pragma once
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "trace/span_queue.hpp"
#include "trace/trace_settings.hpp"

namespace onceguard::gateway {

/// Has a thread of its own, so that a collector that is slow or away delays no request. A batch
/// that can't be delivered is tried three times, then dropped and counted.
class span_exporter {
 public:
  /// Starts the thread. `queue` must outlive the exporter; `version` is that of the program.
  span_exporter(trace::trace_settings settings, trace::span_queue& queue, std::string version);
  /// Sends what waits, for two seconds at most.
  ~span_exporter();
  span_exporter(const span_exporter&) = delete;
  span_exporter& operator=(const span_exporter&) = delete;

 private:
  class connection;

  void run();
  void deliver(const std::vector<std::string>& batch);

  const trace::trace_settings settings_;
  trace::span_queue& queue_;
  const std::string version_;
  std::unique_ptr<connection> connection_;
  std::promise<void> over_;
  std::thread thread_;
};

}  // namespace onceguard::gateway
