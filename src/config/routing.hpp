// Makes upstreams and routes from the file's tables, `--upstream` and the defaults.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/all_options.hpp"
#include "config/policy/routes.hpp"
#include "config/table/document.hpp"
#include "config/table/remark.hpp"
#include "gateway/params/gateway_params.hpp"
#include "webhook/sender.hpp"

namespace onceguard::config {

struct routing_input {
  reading source;
  const node* upstreams = nullptr;  ///< the array [[upstream]]; null: none
  const node* routes = nullptr;     ///< the array [[route]]; null: none
  std::optional<setting> upstream_flag;
  bool misread_upstream = false;  ///< one was given, and why it is none was said
  policy_draft defaults;
  bool need_upstream = true;
  std::vector<webhook::sender> senders;  ///< of webhooks
};

struct routing_output {
  gateway::routing_params params;
  std::vector<policy_draft> policies;  ///< one per route, with the sources of its options
};

[[nodiscard]] routing_output build_routing(const routing_input& input, remarks& out);

}  // namespace onceguard::config
