#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/kafka/kafka_consumer.hpp"
#include "messaging/kafka/kafka_publisher.hpp"

namespace onceguard::messaging::kafka {
namespace {

constexpr std::array<std::string_view, 2> schemes{"kafka", "kafka+ssl"};
constexpr broker_kind kind{schemes,
                           consumer_example,
                           publisher_example,
                           url_fault_by<read_kafka_url>,
                           open_by<read_kafka_url, kafka_consumer>,
                           open_by<read_kafka_url, kafka_publisher>,
                           nullptr,
                           files_fault_by<read_kafka_url>,
                           "librdkafka.so"};

}  // namespace

ONCEGUARD_BROKER(kafka, kind);

}  // namespace onceguard::messaging::kafka
