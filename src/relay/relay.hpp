// One outbox of `onceguard relay`: its messages are sent to their destination, at least once.
#pragma once
#include <atomic>
#include <cstdint>
#include <stop_token>

#include <onceguard/error.hpp>

#include "relay/relay_params.hpp"

namespace onceguard::relay {

/// Counters of one relay since the start of the process, and gauges.
struct relay_counters {
  std::atomic<std::uint64_t> published{0};   ///< confirmed by the destination, and deleted
  std::atomic<std::uint64_t> failed{0};      ///< refusals after which the message is sent again
  std::atomic<std::uint64_t> dead{0};        ///< messages that nobody sends any more
  std::atomic<std::uint64_t> given_back{0};  ///< batches, as the destination was out of reach
  std::atomic<std::uint64_t> waiting{0};     ///< rows, as they were counted last
  std::atomic<std::uint64_t> dead_rows{0};   ///< the same, of all relays
  std::atomic<std::int64_t> oldest_age{0};   ///< milliseconds; of the oldest row that waits
  std::atomic<bool> outbox_up{false};
  std::atomic<bool> destination_up{true};  ///< until it is known to be away
};

/// Runs until a stop is requested, then ends the batches that run; blocks. Errors: nothing was
/// sent. As for run_subscription, and errc::invalid_argument for a secret that can't be read.
[[nodiscard]] result<void> run(const relay_params& params, relay_counters& counters,
                               std::stop_token stop);

}  // namespace onceguard::relay
