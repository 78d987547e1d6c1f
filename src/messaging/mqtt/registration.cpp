// Makes MQTT known to open_consumer and open_publisher, in programs that link its component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/mqtt/address.hpp"
#include "messaging/mqtt/consumer.hpp"
#include "messaging/mqtt/publisher.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_mqtt_registration;
const char onceguard_mqtt_registration = 1;
}

namespace onceguard::messaging::mqtt {
namespace {

std::string mqtt_url_fault(std::string_view url, broker_role role) {
  const auto read = read_address(url, role);
  return read ? std::string() : read.error().detail;
}

std::string address_files_fault(std::string_view url, broker_role role) {
  const auto read = read_address(url, role);
  return read ? files_fault(read->tls) : std::string();
}

constexpr std::array<std::string_view, 2> schemes{"mqtt", "mqtts"};
constexpr broker_kind mqtt_kind{schemes,        consumer_example,   publisher_example,
                                mqtt_url_fault, open_consumer,      open_publisher,
                                nullptr,        address_files_fault};
const broker_registration registration(mqtt_kind);

}  // namespace
}  // namespace onceguard::messaging::mqtt
