// A consumer of a RabbitMQ queue.
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::rabbitmq {

[[nodiscard]] result<std::unique_ptr<messaging::consumer>> open_consumer(
    const broker_params& params);

}  // namespace onceguard::messaging::rabbitmq
