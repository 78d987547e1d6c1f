// A durable pull consumer of JetStream.
//
// A delivery is held for the consumer's ack_wait by this process's clock, from a time at which the
// server can't have sent it yet. After that, a settlement is errc::not_found and is not sent: the
// server would carry it out, whoever has the message then. An acknowledgement would be harmless,
// but a give_back would let a third consumer begin beside the second, and an extension would
// lengthen the second one's hold.
#pragma once
#include <memory>

#include "messaging/broker_kind.hpp"

namespace onceguard::messaging::nats {

[[nodiscard]] result<std::unique_ptr<consumer>> open_nats_consumer(const broker_params& params);

/// What the server tells of the stream and the consumer. Errors as for open_consumer.
[[nodiscard]] result<queue_report> examine_nats_queue(const broker_params& params);

}  // namespace onceguard::messaging::nats
