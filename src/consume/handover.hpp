// A message of a subscriber, once: claimed, handed to the endpoint or the command, settled.
#pragma once
#include <memory>
#include <string>

#include <onceguard/broker.hpp>
#include <onceguard/guard.hpp>
#include <onceguard/inbox.hpp>

#include "consume/receiver.hpp"
#include "messaging/inbox_guard/guarded_message.hpp"

namespace onceguard::consume {

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

}  // namespace onceguard::consume
