// Where a relay sends messages to.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
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

/// How long a destination may wait for a broker that has messages of the batch and does not confirm
/// them for now, as it does while it is low on memory or disk.
struct waiting {
  std::stop_token stop{};  ///< until then; what lies there then may be sent twice
  std::function<void(const std::string& why)> on_wait{};  ///< each time when the timeout is over
};

/// One connection; one thread at a time.
class destination {
 public:
  destination() = default;
  destination(const destination&) = delete;
  destination& operator=(const destination&) = delete;
  virtual ~destination() = default;
  /// Blocks, for at most the timeout and once more for each message that is sent by itself; with
  /// messages on their way to a broker that takes nothing for now, until it does again. The
  /// batch has one message of each order key at most. An error: the destination is out of reach;
  /// any of the messages may have arrived, and all of them are sent again.
  [[nodiscard]] virtual result<refusals> send(std::span<const outgoing> batch,
                                              const waiting& rules) = 0;
};

/// Connects at the first message. `secrets`: the bytes of the keys of signatures; empty: no
/// signature.
[[nodiscard]] std::unique_ptr<destination> make_destination(
    const relay_params& params, const std::vector<std::string>& secrets);

}  // namespace onceguard::relay
