// Health and metrics of a process without a gateway, whose workers (subscribers, relays) count what
// they do.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/resource.hpp"

namespace onceguard::admin {

using name_and_text = std::pair<std::string_view, std::string>;

struct measurement {
  std::string_view name;  ///< of a counter, if it ends with `_total`; else of a gauge
  std::string_view meaning;
  double value = 0;
  std::vector<name_and_text> labels;
};

/// What the workers say of themselves at one moment.
struct worker_state {
  std::vector<std::vector<name_and_text>> reasons;  ///< why they are not ready: members of each
  std::vector<measurement> measurements;

  template <class Number>
  void add(std::string_view name, std::string_view meaning, const Number& value,
           std::vector<name_and_text> named = {}) {
    measurements.push_back({name, meaning, static_cast<double>(value), std::move(named)});
  }
};

/// GET /healthz and /readyz without a token, and /metrics. `read` is called on the listener's
/// thread.
[[nodiscard]] resources worker_resources(std::function<worker_state()> read);

}  // namespace onceguard::admin
