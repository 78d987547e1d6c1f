// The brokers that the contract suite runs on.
#include "messaging/contract/broker_server.hpp"
#include "messaging/contract/rabbitmq_broker.hpp"

namespace onceguard::testing {

const std::vector<tested_broker>& tested_brokers() {
  static const std::vector<tested_broker> all{
      {"rabbitmq", milliseconds(0), [] { return std::make_unique<rabbitmq_broker>(); }},
  };
  return all;
}

}  // namespace onceguard::testing
