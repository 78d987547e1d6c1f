// The brokers that the contract suites run on.
#include "messaging/contract/broker_server.hpp"
#include "messaging/contract/kafka_broker.hpp"
#include "messaging/contract/mqtt_broker.hpp"
#include "messaging/contract/nats_broker.hpp"
#include "messaging/contract/postgres_queue_server.hpp"
#include "messaging/contract/rabbitmq_broker.hpp"
#include "messaging/contract/redis_streams_broker.hpp"
#include "messaging/contract/sqs_broker.hpp"

namespace onceguard::testing {

const std::vector<tested_broker>& tested_brokers() {
  static const std::vector<tested_broker> all{
      {"rabbitmq", milliseconds(0), [] { return std::make_unique<rabbitmq_broker>(); }},
      {"mqtt", milliseconds(0), [] { return std::make_unique<mqtt_broker>(); }, true},
      {"nats", nats_broker::hold, [] { return std::make_unique<nats_broker>(); }},
      redis_streams_broker(),
      {"postgres_queue", postgres_queue_server::hold,
       [] { return std::make_unique<postgres_queue_server>(); }},
      {"sqs", sqs_broker::hold, [] { return std::make_unique<sqs_broker>(); }},
      {"sqs_fifo", sqs_broker::hold, [] { return std::make_unique<sqs_broker>(".fifo"); }},
      {"kafka", kafka_broker::hold, [] { return std::make_unique<kafka_broker>(); }},
  };
  return all;
}

}  // namespace onceguard::testing
