// The consumer and the publisher of a RabbitMQ queue.
#pragma once
#include <memory>

#include "messaging/broker_kind.hpp"

namespace onceguard::messaging::rabbitmq {

[[nodiscard]] result<std::unique_ptr<consumer>> open_consumer(const broker_params& params);
/// To a queue or an exchange.
[[nodiscard]] result<std::unique_ptr<publisher>> open_publisher(const broker_params& params);
/// What the broker tells of the queue, without a delivery.
[[nodiscard]] result<queue_report> examine_queue(const broker_params& params);

}  // namespace onceguard::messaging::rabbitmq
