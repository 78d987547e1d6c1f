// What RabbitMQ's management API tells of a queue: its arguments, and those of its policies.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "messaging/rabbitmq/amqp_url.hpp"

namespace onceguard::messaging::rabbitmq {

struct queue_facts {
  /// So often a message is delivered again; then it is dropped, or goes to the dead-letter
  /// exchange.
  std::optional<std::uint64_t> redeliveries_max;
  bool has_dead_letters = false;  ///< there is a dead-letter exchange
  bool is_complete = true;        ///< false: of the policies, nothing is known yet
};

/// Asks `where.management`, with the login in its URL, else with that of AMQP. `version`: of the
/// broker. errc::broker_unreachable: no answer. errc::not_found: there is no such queue.
/// errc::conflict: another refusal, or an answer of something else.
[[nodiscard]] result<queue_facts> ask_management(const address& where, std::string_view version,
                                                 milliseconds timeout);

/// Of the answer to GET /api/queues/VHOST/QUEUE; nullopt: it is none.
[[nodiscard]] std::optional<queue_facts> facts_in(std::string_view answer,
                                                  std::string_view version);

}  // namespace onceguard::messaging::rabbitmq
