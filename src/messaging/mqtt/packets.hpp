// The packets of MQTT 5.0 that a client needs for messages of QoS 0 and 1 (section 3).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/mqtt/packet_bytes.hpp"
#include "messaging/mqtt/properties.hpp"

namespace onceguard::messaging::mqtt {

enum class packet_type : std::uint8_t {
  connect = 1,
  connack = 2,
  publish = 3,
  puback = 4,
  subscribe = 8,
  suback = 9,
  pingreq = 12,
  pingresp = 13,
  disconnect = 14,
};

[[nodiscard]] inline packet_type type_of(const frame& one) noexcept {
  return static_cast<packet_type>(one.first_byte >> 4U);
}

/// CONNECT.
struct session_request {
  std::string client_id;
  bool clean_start = false;
  std::uint16_t keep_alive = 0;      ///< seconds; zero: none
  std::uint32_t session_expiry = 0;  ///< seconds; 0xFFFFFFFF: never
  std::uint16_t receive_maximum = 0xffff;
  std::optional<std::pair<std::string, std::string>> login{};
};

/// CONNACK.
struct session_answer {
  bool present = false;  ///< the server has kept a session of this client id
  std::uint8_t reason = 0;
  properties details{};
};

/// PUBLISH.
struct publication {
  std::string_view topic;
  std::string_view payload;
  std::uint16_t packet_id = 0;  ///< zero: QoS 0
  bool repeated = false;        ///< DUP
  bool retained = false;
  properties details{};
};

/// PUBACK, SUBACK, and DISCONNECT, which has no packet id.
struct reply {
  std::uint16_t packet_id = 0;
  std::uint8_t reason = 0;
  properties details{};
};

[[nodiscard]] std::string encode(const session_request& request);
/// QoS 1. The packet id stands 2 bytes behind the topic.
[[nodiscard]] std::string encode(const publication& sent);
[[nodiscard]] std::string encode_puback(std::uint16_t packet_id);
/// At most QoS 1; retained messages only where the subscription is a new one (section 3.8.3.1).
[[nodiscard]] std::string encode_subscribe(std::uint16_t packet_id, std::string_view filter);
[[nodiscard]] std::string encode_pingreq();
/// With `forget`, the server keeps nothing of the session.
[[nodiscard]] std::string encode_disconnect(bool forget);

/// These throw `malformed`. What they return lives as long as the frame's bytes.
[[nodiscard]] session_answer decode_connack(const frame& arrived);
[[nodiscard]] publication decode_publish(const frame& arrived);
[[nodiscard]] reply decode_puback(const frame& arrived);
[[nodiscard]] reply decode_suback(const frame& arrived);
[[nodiscard]] reply decode_disconnect(const frame& arrived);

}  // namespace onceguard::messaging::mqtt
