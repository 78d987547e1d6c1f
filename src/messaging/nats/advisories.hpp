// What JetStream tells of messages that it delivers no more: max_deliver was reached.
#pragma once
#include <vector>

#include "messaging/nats/consumer_facts.hpp"
#include "messaging/nats/nats_connection.hpp"

namespace onceguard::messaging::nats {

class advisories {
 public:
  /// Asks for them, if the server lets this login do so: else none comes.
  void subscribe(const connection& server, const consumer_facts& facts);
  /// What has arrived since the last call.
  [[nodiscard]] std::vector<dropped_message> take();

 private:
  subscription_handle subscription_;
};

}  // namespace onceguard::messaging::nats
