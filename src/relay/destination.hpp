// Where a relay sends messages to.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "messaging/batch_publisher.hpp"
#include "relay/relay_params.hpp"

namespace onceguard::relay {

/// A message on its way.
struct outgoing {
  messaging::message sent;
  std::string id;
  std::uint32_t attempt = 0;  ///< deliveries of the outbox so far
};

using messaging::refusals;

/// One connection; one thread at a time.
class destination {
 public:
  destination() = default;
  destination(const destination&) = delete;
  destination& operator=(const destination&) = delete;
  virtual ~destination() = default;
  /// Blocks, for at most the timeout and once more for each message that is sent by itself. The
  /// batch has one message of each order key at most. An error: the destination is out of reach;
  /// any of the messages may have arrived, and all of them are sent again.
  [[nodiscard]] virtual result<refusals> send(std::span<const outgoing> batch) = 0;
};

/// Connects at the first message. `secret`: the bytes of the key of the signature; empty: none.
[[nodiscard]] std::unique_ptr<destination> make_destination(const relay_params& params,
                                                            const std::string& secret);

}  // namespace onceguard::relay
