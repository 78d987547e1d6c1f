#include "messaging/mqtt/packets.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr unsigned version_5 = 5;
constexpr unsigned flag_clean_start = 0x02;
constexpr unsigned flag_password = 0x40;
constexpr unsigned flag_user = 0x80;
constexpr unsigned flag_retain = 0x01;
constexpr unsigned flag_dup = 0x08;
/// Maximum QoS 1, and Retain Handling 1.
constexpr unsigned subscription_options = 0x01 | 0x10;

constexpr unsigned first_byte_of(packet_type type, unsigned flags = 0) {
  return static_cast<unsigned>(type) << 4U | flags;
}

std::string packet(packet_type type, unsigned flags, std::string_view body) {
  std::string out;
  out.reserve(body.size() + 5);
  append_packet(out, first_byte_of(type, flags), body);
  return out;
}

/// A reason code, and properties: both may be left out where they say nothing (3.4.2.1, 3.14.2.1).
void read_reason(reader& source, reply& out) {
  if (!source.at_end()) out.reason = source.byte();
  if (!source.at_end()) out.details = properties::read(source);
}

}  // namespace

std::string encode(const session_request& request) {
  std::string body;
  append_text(body, "MQTT");
  append_byte(body, version_5);
  unsigned flags = request.clean_start ? flag_clean_start : 0;
  if (request.login) flags |= flag_user | flag_password;
  append_byte(body, flags);
  append_u16(body, request.keep_alive);
  properties details;
  if (request.session_expiry > 0) details.add(property_id::session_expiry, request.session_expiry);
  details.add(property_id::receive_maximum, request.receive_maximum);
  details.append_to(body);
  append_text(body, request.client_id);
  if (request.login) {
    append_text(body, request.login->first);
    append_text(body, request.login->second);
  }
  return packet(packet_type::connect, 0, body);
}

std::string encode(const publication& sent) {
  std::string body;
  append_text(body, sent.topic);
  append_u16(body, sent.packet_id);
  sent.details.append_to(body);
  body += sent.payload;
  constexpr unsigned qos_1 = 0x02;
  return packet(packet_type::publish, qos_1, body);
}

std::string encode_puback(std::uint16_t packet_id) {
  std::string body;
  append_u16(body, packet_id);
  return packet(packet_type::puback, 0, body);
}

std::string encode_subscribe(std::uint16_t packet_id, std::string_view filter) {
  std::string body;
  append_u16(body, packet_id);
  properties().append_to(body);
  append_text(body, filter);
  append_byte(body, subscription_options);
  constexpr unsigned reserved = 0x02;  // section 3.8.1
  return packet(packet_type::subscribe, reserved, body);
}

std::string encode_pingreq() { return packet(packet_type::pingreq, 0, {}); }

std::string encode_disconnect(bool forget) {
  std::string body;
  if (forget) {
    append_byte(body, 0);
    properties details;
    details.add(property_id::session_expiry, std::uint32_t{0});
    details.append_to(body);
  }
  return packet(packet_type::disconnect, 0, body);
}

session_answer decode_connack(const frame& arrived) {
  reader source(arrived.body);
  session_answer out;
  out.present = (source.byte() & 1U) != 0;
  out.reason = source.byte();
  // Servers without MQTT 5 answer as MQTT 3.1.1 has it, which is without properties.
  if (!source.at_end()) out.details = properties::read(source);
  return out;
}

publication decode_publish(const frame& arrived) {
  reader source(arrived.body);
  publication out;
  const unsigned qos = arrived.first_byte >> 1U & 3U;
  if (qos > 1) throw malformed{"a message of QoS 2, which nobody subscribed to"};
  out.repeated = (arrived.first_byte & flag_dup) != 0;
  out.retained = (arrived.first_byte & flag_retain) != 0;
  out.topic = source.text();
  // The CONNECT has no Topic Alias Maximum, so that no alias stands for it (MQTT 5, 3.1.2.11.5).
  if (out.topic.empty()) throw malformed{"a message without a topic"};
  if (qos > 0) {
    out.packet_id = source.u16();
    if (out.packet_id == 0) throw malformed{"a packet id of zero"};
  }
  out.details = properties::read(source);
  out.payload = source.rest();
  return out;
}

reply decode_puback(const frame& arrived) {
  reader source(arrived.body);
  reply out;
  out.packet_id = source.u16();
  read_reason(source, out);
  return out;
}

reply decode_suback(const frame& arrived) {
  reader source(arrived.body);
  reply out;
  out.packet_id = source.u16();
  out.details = properties::read(source);
  out.reason = source.byte();
  return out;
}

reply decode_disconnect(const frame& arrived) {
  reader source(arrived.body);
  reply out;
  read_reason(source, out);
  return out;
}

}  // namespace onceguard::messaging::mqtt
