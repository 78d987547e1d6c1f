// Plays the demo from its first scene to its last.
#pragma once
#include "cli/demo/report.hpp"

namespace onceguard::cli::demo {

/// Starts a shop and a gateway, plays every scene, cleans up. With `keep`, shop and gateway
/// continue to run until SIGINT or SIGTERM.
/// @return the exit code: 0 only if every count was right
[[nodiscard]] int play(report& report, bool keep);

}  // namespace onceguard::cli::demo
