// Makes routes from the file's tables [[route]] and the policy of [defaults].
#pragma once
#include <string>
#include <vector>

#include <onceguard/http_message.hpp>

#include "config/policy/policy_options.hpp"
#include "config/table/document.hpp"
#include "config/table/table_reader.hpp"

namespace onceguard::config {

struct configured_route : route_draft {
  http::route rule;
  policy_draft policy;       ///< with the sources of its options
  origin upstream_position;  ///< where the name of the upstream was read
};

/// `routes` is the array [[route]]; null: there is none. What fits none of them goes by `defaults`:
/// the last route, unless one of the others fits everything.
[[nodiscard]] std::vector<configured_route> read_routes(const reading& source, const node* routes,
                                                        const policy_draft& defaults, remarks& out);

/// Whether a fault is among the remarks.
[[nodiscard]] bool has_fault(const remarks& list) noexcept;

}  // namespace onceguard::config
