// Makes Kafka known to open_consumer and open_publisher, in programs that link its component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/kafka/kafka_consumer.hpp"
#include "messaging/kafka/kafka_publisher.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_kafka_registration;
const char onceguard_kafka_registration = 1;
}

namespace onceguard::messaging::kafka {
namespace {

constexpr std::array<std::string_view, 2> schemes{"kafka", "kafka+ssl"};

result<std::unique_ptr<consumer>> open_kafka_consumer(const broker_params& params) {
  const auto url = read_kafka_url(params.url, broker_role::consumer);
  if (!url) return url.error();
  return caught([&]() -> std::unique_ptr<consumer> {
    return std::make_unique<kafka_consumer>(*url, params);
  });
}

result<std::unique_ptr<publisher>> open_kafka_publisher(const broker_params& params) {
  const auto url = read_kafka_url(params.url, broker_role::publisher);
  if (!url) return url.error();
  return caught([&]() -> std::unique_ptr<publisher> {
    return std::make_unique<kafka_publisher>(*url, params);
  });
}

constexpr broker_kind kind{schemes,   consumer_example,    publisher_example,
                           url_fault, open_kafka_consumer, open_kafka_publisher,
                           nullptr,   url_files_fault};
const broker_registration registration(kind);

}  // namespace
}  // namespace onceguard::messaging::kafka
