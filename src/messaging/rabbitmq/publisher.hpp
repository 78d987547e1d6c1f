// A publisher to a RabbitMQ queue or exchange.
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::rabbitmq {

[[nodiscard]] result<std::unique_ptr<messaging::publisher>> open_publisher(
    const broker_params& params);

}  // namespace onceguard::messaging::rabbitmq
