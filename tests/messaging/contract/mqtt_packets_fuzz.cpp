// Any bytes of an MQTT server: a packet, a packet that is not complete, or malformed; and a message
// that was read is the same when it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messaging/mqtt/packets.hpp"
#include "messaging/mqtt/wire_message.hpp"

namespace {

using namespace onceguard::messaging;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_message(const mqtt::publication& got) {
  const auto received = mqtt::message_of(got);
  require(received.payload == got.payload);
  auto sent = got;
  if (sent.packet_id == 0) sent.packet_id = 1;
  const auto bytes = mqtt::encode(sent);
  const auto frame = mqtt::first_packet_frame(bytes);
  require(frame.size == bytes.size());
  const auto again = mqtt::decode_publish(frame);
  require(again.topic == got.topic && again.payload == got.payload);
  require(again.details.all().size() == got.details.all().size());
  // What can't be sent on is refused; what can is the same at the far end.
  const auto details = mqtt::properties_of(received);
  if (details) sent.details = *details;
  const auto copy = mqtt::encode(sent);
  require(mqtt::message_of(mqtt::decode_publish(mqtt::first_packet_frame(copy))).headers ==
          received.headers);
}

void check(const mqtt::frame& packet) {
  switch (mqtt::type_of(packet)) {
    case mqtt::packet_type::connack:
      return static_cast<void>(mqtt::decode_connack(packet));
    case mqtt::packet_type::publish:
      return check_message(mqtt::decode_publish(packet));
    case mqtt::packet_type::puback:
      return static_cast<void>(mqtt::decode_puback(packet));
    case mqtt::packet_type::suback:
      return static_cast<void>(mqtt::decode_suback(packet));
    default:
      return static_cast<void>(mqtt::decode_disconnect(packet));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  try {
    while (!rest.empty()) {
      const auto packet = mqtt::first_packet_frame(rest);
      if (packet.size == 0) return 0;
      require(packet.size <= rest.size());
      check(packet);
      rest.remove_prefix(packet.size);
    }
  } catch (const mqtt::malformed&) {
    return 0;
  }
  return 0;
}
