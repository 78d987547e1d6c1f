// A connection to an MQTT server, with a session.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "messaging/framed_connection.hpp"
#include "messaging/mqtt/mqtt_url.hpp"
#include "messaging/mqtt/packets.hpp"

namespace onceguard::messaging::mqtt {

/// Gets what arrives. Called amid calls of the connection; may add packets to it, and calls nothing
/// else of it. May throw `malformed`.
class packet_listener {
 public:
  packet_listener() = default;
  packet_listener(const packet_listener&) = delete;
  packet_listener& operator=(const packet_listener&) = delete;
  virtual ~packet_listener() = default;

  /// What it refers to lives no longer than the call.
  virtual void take_message(const publication& arrived) = 0;
  /// PUBACK and SUBACK.
  virtual void take_reply(packet_type type, const reply& arrived) = 0;
};

class connection final : public framed_connection {
 public:
  /// Connects nothing yet. The address and the listener must outlive it. `timeout`: so long the
  /// server may be silent after it was asked for a sign of life.
  connection(const address& server, milliseconds timeout, packet_listener& listener)
      : framed_connection(server.url), address_(server), timeout_(timeout), listener_(listener) {}

  /// Connects and begins the session. errc::broker_unreachable: also where the server refuses the
  /// client; errc::invalid_argument: it takes no such client id, or a file of the TLS settings
  /// can't be used.
  [[nodiscard]] result<session_answer> open(const session_request& request, moment until);
  /// Says goodbye, and waits until the server has read it, and so all that was sent before.
  /// `forget`: the server keeps nothing of the session.
  void close(bool forget, moment until);

  /// Sends a sign of life where one is due, asks for one where nothing has arrived for as long as
  /// the timeout, and gives up where none comes.
  void keep_alive();
  /// When keep_alive has something to do.
  [[nodiscard]] moment next_duty() const;

 private:
  void take_bytes(std::string_view bytes) override;
  [[nodiscard]] std::string end_hint() const override;
  void take(const frame& packet);
  [[nodiscard]] result<void> accept(const session_answer& answer);

  const address& address_;
  const milliseconds timeout_;
  packet_listener& listener_;
  std::string arrived_;  ///< whose last packet is not complete
  std::optional<session_answer> answer_;
  bool closing_ = false;
  std::chrono::seconds interval_{0};  ///< within which the server wants to get something; 0: none
  std::optional<moment> unanswered_ping_;  ///< when a sign of life was asked for that has not come
};

}  // namespace onceguard::messaging::mqtt
