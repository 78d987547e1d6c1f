// The consumer and the publisher of an MQTT topic.
#pragma once
#include <memory>

#include "messaging/broker_kind.hpp"

namespace onceguard::messaging::mqtt {

[[nodiscard]] result<std::unique_ptr<consumer>> open_consumer(const broker_params& params);
[[nodiscard]] result<std::unique_ptr<publisher>> open_publisher(const broker_params& params);

}  // namespace onceguard::messaging::mqtt
