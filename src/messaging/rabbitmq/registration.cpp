// Makes RabbitMQ known to open_consumer and open_publisher, in programs that link its component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/rabbitmq/address.hpp"
#include "messaging/rabbitmq/consumer.hpp"
#include "messaging/rabbitmq/publisher.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_rabbitmq_registration;
const char onceguard_rabbitmq_registration = 1;
}

namespace onceguard::messaging::rabbitmq {
namespace {

std::string address_fault(std::string_view url, broker_role role) {
  const auto read = read_address(url, role);
  return read ? std::string() : read.error().detail;
}

std::string address_files_fault(std::string_view url, broker_role role) {
  const auto read = read_address(url, role);
  return read ? files_fault(read->tls) : std::string();
}

constexpr std::array<std::string_view, 2> schemes{"amqp", "amqps"};
constexpr broker_kind rabbitmq_kind{schemes,       consumer_example,   publisher_example,
                                    address_fault, open_consumer,      open_publisher,
                                    examine_queue, address_files_fault};
const broker_registration registration(rabbitmq_kind);

}  // namespace
}  // namespace onceguard::messaging::rabbitmq
