// One simulation: a seed, what happened, and what was wrong with it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "checker.hpp"
#include "history.hpp"
#include "scene.hpp"

namespace onceguard::sim {

struct simulated {
  history events;
  std::vector<violation> violations;
  std::uint64_t handlers = 0;
};

/// Plays the scene of a seed. `disturbances` are the scene's, or fewer.
[[nodiscard]] simulated play(const scene& played, const plan& disturbances);

/// The shortest plan that is found to fail: each disturbance is left out in turn, as long as it
/// still fails.
[[nodiscard]] plan shrink(const scene& played);

}  // namespace onceguard::sim
