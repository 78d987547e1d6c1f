// Messages and what MQTT 5 has of them: headers are user properties, and so are two properties that
// MQTT has no property for, the message id and the order key.
#pragma once
#include <optional>
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/mqtt/packets.hpp"

namespace onceguard::messaging::mqtt {

/// The properties of a message to be sent. errc::invalid_argument: MQTT can't carry one of them.
[[nodiscard]] result<properties> properties_of(const message& sent);

/// A message that arrived.
[[nodiscard]] message message_of(const publication& arrived);

}  // namespace onceguard::messaging::mqtt
