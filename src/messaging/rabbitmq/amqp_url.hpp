// Where a RabbitMQ queue is, and how it is used: what a URL says.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"
#include "messaging/broker_url.hpp"

namespace onceguard::messaging::rabbitmq {

inline constexpr std::string_view consumer_example =
    "amqp://user:password@host/queue?dead_letters=yes&management=http://host:15672";
inline constexpr std::string_view publisher_example = "amqp://user:password@host/queue";

/// `amqp[s]://[user:password@]HOST[:PORT]/[VHOST/]QUEUE` with the parameters of docs/messages.md.
struct address {
  broker_url url;
  std::optional<tls::client_files> tls;  ///< of `amqps`
  /// The login is the certificate's name (SASL EXTERNAL), and there is neither user nor password.
  bool external = false;
  std::string user{"guest"};
  std::string password{"guest"};
  std::string vhost{"/"};
  std::string queue;
  /// Of consumers. RabbitMQ does not announce whether a queue has a dead-letter exchange. Where the
  /// URL says yes and there is none, RabbitMQ drops what dead_letter rejects.
  bool dead_letters = false;
  /// Of consumers: the interval that is agreed with the broker.
  std::chrono::seconds heartbeat{0};
  /// Of consumers: the management API's URL, which tells what AMQP does not; empty: not known.
  std::string management;
  /// Of publishers. Empty: the default exchange, whose routing keys are names of queues.
  std::string exchange;
  std::string key;
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<address> read_address(std::string_view url, broker_role role);

}  // namespace onceguard::messaging::rabbitmq
