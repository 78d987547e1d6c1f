// Messages as AMQP 0-9-1 carries them: a head with properties and a table of headers, and a body.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/rabbitmq/frames.hpp"

namespace onceguard::messaging::rabbitmq {

struct received_content {
  message received{};
  /// How often a quorum queue has delivered the message before. (A classic queue does not count.)
  std::optional<std::uint32_t> deliveries_before{};
};

/// The properties that are texts (message_id, correlation_id, type, content_type, content_encoding,
/// app_id, reply_to), the timestamp in seconds since 1970, and those headers that are texts or
/// numbers.
[[nodiscard]] received_content read_head(const amqp_basic_properties_t& head);

/// Appends the message's head, as one that the broker stores on its disk, within `frame_max` bytes.
/// Properties that AMQP does not know are left out. errc::conflict: AMQP can't carry the message.
[[nodiscard]] result<void> append_message_head(std::string& out, amqp_channel_t channel,
                                               const message& sent, std::size_t frame_max);

}  // namespace onceguard::messaging::rabbitmq
