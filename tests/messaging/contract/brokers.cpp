// The brokers that the contract suite runs on.
#include "messaging/contract/broker_server.hpp"
#include "messaging/contract/nats_broker.hpp"

namespace onceguard::testing {

const std::vector<tested_broker>& tested_brokers() {
  static const std::vector<tested_broker> all{
      {"nats", nats_broker::hold, [] { return std::make_unique<nats_broker>(); }},
  };
  return all;
}

}  // namespace onceguard::testing
