// Where traces go, as the environment variables of OpenTelemetry say.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

#include "base/address.hpp"

namespace onceguard::trace {

using attribute_list = std::vector<std::pair<std::string, std::string>>;

struct sampler_settings {
  bool parent_based = true;  ///< a request that belongs to a trace is sampled as the trace is
  double ratio = 1.0;        ///< of the other requests
};

struct trace_settings {
  base::endpoint address;  ///< of the collector
  std::string path;        ///< "/v1/traces"
  attribute_list headers;  ///< of each request to the collector; values may be secrets
  attribute_list resource{{"service.name", "onceguard"}};
  sampler_settings sampler;
  milliseconds timeout{10'000};   ///< for one request to the collector
  milliseconds delay{5'000};      ///< between two of them, unless a batch is full
  std::size_t queue_max = 2'048;  ///< requests whose spans wait; of later ones nothing is kept
  std::size_t batch_max = 512;
};

struct trace_setup {
  std::optional<trace_settings> settings;  ///< empty: no traces
  std::vector<std::string> faults;         ///< what was ignored: the variable, and what is wrong
};

/// `variable` returns the value of an environment variable; empty: unset, as the specification has
/// it.
[[nodiscard]] trace_setup read_setup(
    const std::function<std::string(std::string_view name)>& variable);

}  // namespace onceguard::trace
