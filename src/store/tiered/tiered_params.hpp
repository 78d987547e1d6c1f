// What the tiered store is opened with.
#pragma once
#include <functional>
#include <memory>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "store/staleness.hpp"

namespace onceguard::tiered {

/// Opens the accelerator; blocks. Called again and again until it succeeds.
using accelerator_factory = std::function<result<std::unique_ptr<store>>()>;

struct tiered_params {
  /// How long a call waits for the accelerator: no longer than asking the truth might take.
  milliseconds accelerator_timeout{50};
  milliseconds interval = poll_interval;  ///< between looks at both
  milliseconds trusted = fresh_for;       ///< what a look found, so long after it began
  /// Answers are replayed from the accelerator also while the truth is out of reach.
  bool replays_without_truth = false;
  const base::clock* clock = &base::system_clock();  ///< durations are measured by it
};

}  // namespace onceguard::tiered
