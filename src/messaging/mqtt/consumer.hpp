// A consumer of an MQTT topic, with a session that the server keeps.
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::mqtt {

[[nodiscard]] result<std::unique_ptr<messaging::consumer>> open_consumer(
    const broker_params& params);

}  // namespace onceguard::messaging::mqtt
