// The URLs: nats://[user:password@]host[:port]/STREAM/CONSUMER and …/SUBJECT.
#pragma once
#include <string_view>

#include "messaging/broker_url.hpp"

namespace onceguard::messaging::nats {

inline constexpr std::string_view consumer_example = "nats://localhost:4222/STREAM/CONSUMER";
inline constexpr std::string_view publisher_example = "nats://localhost:4222/SUBJECT";

[[nodiscard]] result<broker_url> parse_consumer_url(std::string_view text);
[[nodiscard]] result<broker_url> parse_publisher_url(std::string_view text);

}  // namespace onceguard::messaging::nats
