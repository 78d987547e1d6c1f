// One queue of `onceguard consume`: its messages are handed to an endpoint or a command, once per
// message id.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <onceguard/broker.hpp>
#include <onceguard/guard.hpp>
#include <onceguard/inbox.hpp>

#include "consume/receiver.hpp"
#include "messaging/inbox_guard/guarded_message.hpp"

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

/// A message of a subscriber, once: claimed, handed to the endpoint or the command, settled.
/// Thread-safe.
class message_handler {
 public:
  /// Both must outlive it. errc::invalid_argument: the secret can't be read.
  [[nodiscard]] static result<message_handler> make(const consume_params& params, guard& records);

  /// The message with this id; empty: it has none, and is dead. Blocks. Errors as for
  /// guarded_inbox::process.
  [[nodiscard]] result<inbox_outcome> handle(const messaging::message& received,
                                             const std::string& id,
                                             messaging::earlier_attempts earlier = {});

 private:
  message_handler(const consume_params& params, guard& records, std::unique_ptr<receiver> target);

  const consume_params& params_;
  guard& records_;
  std::unique_ptr<receiver> target_;
  route_policy rules_;
};

/// Runs until a stop is requested; blocks. `records` keeps what was handled. Errors as for
/// run_subscription, and errc::invalid_argument for a secret that can't be read.
[[nodiscard]] result<void> run(const consume_params& params, guard& records,
                               consume_counters& counters, std::stop_token stop);

}  // namespace onceguard::consume
