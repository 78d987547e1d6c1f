// What the URLs of consumers and publishers say.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"

namespace onceguard::messaging::kafka {

inline constexpr std::string_view consumer_example = "kafka://127.0.0.1:9092/orders?group=billing";
inline constexpr std::string_view publisher_example = "kafka://127.0.0.1:9092/orders";

/// `kafka://[user:password@]HOST[:PORT][,HOST[:PORT]…]/TOPIC`, `kafka+ssl://…` over TLS. Of a
/// consumer, with `?group=GROUP[&hold=30s][&start=latest][&dead_letters=TOPIC]`.
struct kafka_url {
  std::string scheme;
  std::string servers;                   ///< "host:port,host:port", as librdkafka takes them
  std::optional<tls::client_files> tls;  ///< of `kafka+ssl`
  std::optional<std::pair<std::string, std::string>> login;
  std::string mechanism;   ///< of SASL; empty: no login
  std::string token_file;  ///< of OAUTHBEARER
  std::string topic;
  std::string group;          ///< of consumers only, as all that follows
  std::string dead_letters;   ///< a topic; empty: none
  std::string start;          ///< of a group that has committed nothing: earliest, latest
  milliseconds hold{30'000};  ///< a consumer that is silent for longer loses its partitions

  /// Why one of the files can't be used; empty: all can.
  [[nodiscard]] std::string files_fault() const;
  /// For people, without user and password.
  [[nodiscard]] std::string name() const { return scheme + "://" + servers + '/' + topic; }
};

/// errc::invalid_argument describes the fault. No error text contains a user or a password.
[[nodiscard]] result<kafka_url> read_kafka_url(std::string_view text, broker_role role);

}  // namespace onceguard::messaging::kafka
