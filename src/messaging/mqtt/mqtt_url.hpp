// Where an MQTT topic is, and how it is used: what a URL says.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"

namespace onceguard::messaging::mqtt {

inline constexpr std::string_view consumer_example =
    "mqtt://user:password@host/topic?client_id=billing-1";
inline constexpr std::string_view publisher_example = "mqtt://user:password@host/topic";

/// `mqtt[s]://[user:password@]HOST[:PORT]/TOPIC` with the parameters of docs/messages.md.
struct address {
  broker_url url;
  std::string topic;      ///< of consumers: a topic filter
  std::string client_id;  ///< of publishers: empty unless given
  std::optional<tls::client_files> tls;

  // Of consumers:
  std::string group;  ///< of a shared subscription; empty: not shared
  std::chrono::seconds session_expiry{0};
  std::chrono::seconds keep_alive{0};
  bool create = true;  ///< false: a session that the server does not have is an error

  /// What to subscribe to.
  [[nodiscard]] std::string filter() const;
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<address> read_address(std::string_view url, broker_role role);

}  // namespace onceguard::messaging::mqtt
