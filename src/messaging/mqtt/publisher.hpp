// A publisher to an MQTT topic.
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::mqtt {

[[nodiscard]] result<std::unique_ptr<messaging::publisher>> open_publisher(
    const broker_params& params);

}  // namespace onceguard::messaging::mqtt
