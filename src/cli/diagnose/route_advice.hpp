// What to switch on next for a route, from what became of its requests. Pure.
#pragma once
#include <string>
#include <vector>

#include "cli/diagnose/route_traffic.hpp"

namespace onceguard::cli::diagnose {

struct advice {
  std::string setting;  ///< of the route, as it would stand in the file, or its name
  std::string why;
};

/// In the order in which to do it.
[[nodiscard]] std::vector<advice> advise(const route_traffic& seen);

}  // namespace onceguard::cli::diagnose
