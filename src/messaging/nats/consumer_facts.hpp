// What the server tells of a stream and of a consumer on it, and whether it suits.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/nats/nats_connection.hpp"

namespace onceguard::messaging::nats {

struct consumer_facts {
  std::string stream;
  std::string consumer;
  consumer_traits traits;
  std::size_t pending_max = 0;  ///< held by all of its clients together; zero: any number
  std::size_t batch_max = 0;    ///< of one request; zero: any
  milliseconds expires_max{0};  ///< of one request; zero: any
  /// Of what the stream has room for, messages that nobody has handled yet are dropped as well.
  bool discards_old = false;
};

/// errc::not_found: there is no such stream, or no such consumer. errc::invalid_argument says what
/// about the consumer does not suit.
[[nodiscard]] result<consumer_facts> read_facts(connection& server, const std::string& stream,
                                                const std::string& consumer, time_point until);
/// How many messages of the stream were never delivered to the consumer. errc::not_found: the
/// consumer is gone.
[[nodiscard]] result<std::uint64_t> count_pending(connection& server, const std::string& stream,
                                                  const std::string& consumer, time_point until);

}  // namespace onceguard::messaging::nats
