// Routes to paste into a configuration, as far as observed requests recommend them. Pure.
#pragma once
#include <string>

#include "cli/diagnose/route_traffic.hpp"

namespace onceguard::cli::diagnose {

/// As TOML that the check takes. The evidence stands in comments, and so does every setting that a
/// person has to decide.
[[nodiscard]] std::string recommended_routes(const traffic& seen);

}  // namespace onceguard::cli::diagnose
