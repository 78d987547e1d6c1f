// Publishes to one subject, and waits until a stream of JetStream has stored each message.
//
// The stream's own memory of message ids (its duplicate window) is used where a message has one: a
// message that is in the stream already counts as stored.
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::nats {

[[nodiscard]] result<std::unique_ptr<publisher>> open_nats_publisher(const broker_params& params);

}  // namespace onceguard::messaging::nats
