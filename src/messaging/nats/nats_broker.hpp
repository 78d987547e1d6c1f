// The consumer and the publisher of JetStream.
#pragma once
#include <memory>

#include "messaging/broker_kind.hpp"

namespace onceguard::messaging::nats {

/// A durable pull consumer.
///
/// A delivery is held for the consumer's ack_wait by this process's clock, from a time at which the
/// server can't have sent it yet. After that, a settlement is errc::not_found and is not sent: the
/// server would carry it out, whoever has the message then. An acknowledgement would be harmless,
/// but a give_back would let a third consumer begin beside the second, and an extension would
/// lengthen the second one's hold.
[[nodiscard]] result<std::unique_ptr<consumer>> open_consumer(const broker_params& params);

/// Publishes to one subject, and waits until a stream has stored each message.
///
/// The stream's own memory of message ids (its duplicate window) is used where a message has one: a
/// message that is in the stream already counts as stored.
[[nodiscard]] result<std::unique_ptr<publisher>> open_publisher(const broker_params& params);

/// What the server tells of the stream and the consumer. Errors as for open_consumer.
[[nodiscard]] result<queue_report> examine_queue(const broker_params& params);

}  // namespace onceguard::messaging::nats
