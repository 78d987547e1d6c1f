// One queue of `onceguard consume`: its messages are handed to an endpoint or a command, once per
// message id.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <stop_token>

#include <onceguard/guard.hpp>

#include "consume/consume_params.hpp"

namespace onceguard::consume {

/// Counters of one subscriber since the start of the process.
struct consume_counters {
  std::atomic<std::uint64_t> received{0};                         ///< deliveries
  std::array<std::atomic<std::uint64_t>, inbox_results> settled;  ///< by inbox_result
  std::atomic<std::uint64_t> dead_lettered{0};                    ///< stored among the dead letters
  std::atomic<std::uint64_t> not_settled{0};      ///< outcomes that the broker did not take
  std::atomic<std::uint64_t> last_deliveries{0};  ///< that the broker's own limit allows
  std::atomic<std::uint64_t> dropped{0};  ///< given up by the broker itself, as far as it tells
  std::atomic<std::uint64_t> backlog{0};  ///< as the broker said last
  std::atomic<bool> connected{false};
  std::atomic<bool> circuit_open{false};  ///< what the work needs is away
};

/// Runs until a stop is requested; blocks. `records` keeps what was handled. Errors as for
/// run_subscription, and errc::invalid_argument for a secret that can't be read.
[[nodiscard]] result<void> run(const consume_params& params, guard& records,
                               consume_counters& counters, std::stop_token stop);

}  // namespace onceguard::consume
