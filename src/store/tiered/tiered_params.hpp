// The parameters and counters of the tiered store.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "store/staleness.hpp"

namespace onceguard::tiered {

/// Opens the accelerator; blocks. Called again and again until it succeeds.
using accelerator_factory = std::function<result<std::unique_ptr<store>>()>;

struct tiered_params {
  /// How long a call waits for the accelerator: no longer than a call of the truth might take.
  milliseconds accelerator_timeout{50};
  milliseconds interval = poll_interval;  ///< between two polls of both levels
  milliseconds trusted = fresh_for;       ///< how long a poll's result counts, from its begin
  /// Whether answers are replayed from the accelerator while the truth is out of reach.
  bool replays_without_truth = false;
  const base::clock* clock = &base::system_clock();  ///< durations are measured by it
  /// Sees to it that the monitor's loop runs, until the store ends; open() then waits for no poll.
  /// Empty: a thread of its own runs it.
  std::function<void(boost::asio::io_context&)> run_monitor;
};

/// What the accelerator did since the start. No counter contains a key or a scope.
struct tiered_counters {
  std::atomic<std::uint64_t> replays{0};          ///< answers that the accelerator gave
  std::atomic<std::uint64_t> busy{0};             ///< duplicates that it turned away
  std::atomic<std::uint64_t> claims_of_truth{0};  ///< claims that the truth answered
  std::atomic<std::uint64_t> copied{0};           ///< answers that were copied into it
  std::atomic<std::uint64_t> failures{0};         ///< calls of it that failed
  std::atomic<std::uint64_t> outages{0};          ///< how often the breaker opened
  std::atomic<std::uint64_t> epochs{0};           ///< how often this process ended an epoch
};

}  // namespace onceguard::tiered
