// Makes the spans of requests: OpenTelemetry's data model, OTLP's JSON.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/recent_table.hpp"
#include "http/request_report.hpp"
#include "http/trace_context.hpp"
#include "trace/span_queue.hpp"
#include "trace/trace_settings.hpp"

namespace onceguard::trace {

/// Makes four spans of a sampled request at most: `claim`, `upstream`, `settle`, and the one of the
/// server around them. Remembers in this process the trace of each record's latest run, for the
/// links of its repeats. Thread-safe.
class tracer final : public http::request_observer {
 public:
  /// `queue` must outlive the tracer.
  tracer(const sampler_settings& sampler, span_queue& queue);

  /// Decides whether a request is sampled, and names its spans. `parent` is what the client sent.
  [[nodiscard]] http::request_trace begin(const std::optional<http::trace_parent>& parent) const;
  void finished(const http::request_report& report) noexcept override;

 private:
  struct run {
    http::trace_id trace{};
    http::span_id span{};
  };

  [[nodiscard]] bool samples(const http::trace_id& trace) const noexcept;
  [[nodiscard]] std::optional<run> exchange_run(const http::request_report& report);
  [[nodiscard]] std::string spans_of(const http::request_report& report,
                                     const std::optional<run>& linked) const;

  static constexpr std::size_t runs_remembered = 16 * 1024;  // 640 KiB

  const sampler_settings sampler_;
  span_queue& queue_;
  base::recent_table<run> runs_{runs_remembered};
};

/// One request to a collector, around the spans of a batch.
[[nodiscard]] std::string export_body(const attribute_list& resource, std::string_view version,
                                      const std::vector<std::string>& batch);

}  // namespace onceguard::trace
