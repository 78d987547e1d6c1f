// The brokers that the contract suite runs on.
#include "messaging/contract/broker_server.hpp"

namespace onceguard::testing {

const std::vector<tested_broker>& tested_brokers() {
  static const std::vector<tested_broker> all{};
  return all;
}

}  // namespace onceguard::testing
