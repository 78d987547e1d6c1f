// The values of [gateway] that name other programs of an operator: Prometheus, a viewer of traces.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::config {

// Each says what is wrong with a value; empty: it is right.

[[nodiscard]] std::string prometheus_url_complaint(std::string_view value);
/// What PromQL has between braces (https://prometheus.io/docs/prometheus/latest/querying/basics),
/// and nothing that ends them: the matchers are put into queries.
[[nodiscard]] std::string label_matchers_complaint(std::string_view value);
/// A URL of the web with "{trace_id}" in it, behind the host.
[[nodiscard]] std::string trace_url_complaint(std::string_view value);

}  // namespace onceguard::config
