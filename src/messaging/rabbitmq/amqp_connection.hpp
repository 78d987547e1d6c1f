// A connection to RabbitMQ with one channel. One thread at a time.
//
// librabbitmq decodes what arrives and encodes what is sent. What waits, and for how long, is
// decided here: librabbitmq's functions that use its sockets wait without end for a broker that
// does not read, as RabbitMQ does while it is low on memory.
#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "base/unique_handle.hpp"
#include "messaging/framed_connection.hpp"
#include "messaging/rabbitmq/amqp_url.hpp"
#include "messaging/rabbitmq/wire_message.hpp"

namespace onceguard::messaging::rabbitmq {

inline constexpr amqp_channel_t the_channel = 1;

/// Gets what arrives on the channel, answers to calls included. Called amid calls of the
/// connection; calls none of it.
class channel_listener {
 public:
  channel_listener() = default;
  channel_listener(const channel_listener&) = delete;
  channel_listener& operator=(const channel_listener&) = delete;
  virtual ~channel_listener() = default;

  /// The fields live no longer than the call.
  virtual void take_method(const amqp_method_t& method) = 0;
  /// The message that belongs to the last method that has one.
  virtual void take_content(received_content content) = 0;
};

class connection final : public framed_connection {
 public:
  /// Connects nothing yet. The address and the listener must outlive it.
  connection(const address& where, channel_listener& listener);

  /// Connects and logs in; the operators see the name. errc::broker_unreachable: also a wrong
  /// password; errc::conflict: the broker refuses something else.
  [[nodiscard]] result<void> open(const std::string& name, moment until);
  /// For the first time, or after the broker has closed the channel.
  [[nodiscard]] result<void> open_channel(moment until);
  /// Says goodbye: what was sent before is certain to have been read.
  void close(moment until);

  /// The error that ended the connection (errc::broker_unreachable, amid the login also
  /// errc::conflict) or the channel
  /// (errc::not_found: what was named does not exist; errc::conflict: another refusal).
  [[nodiscard]] result<void> state() const override;

  /// Sends a request on the channel, and waits for the answer.
  [[nodiscard]] result<void> call(amqp_method_number_t id, void* fields,
                                  amqp_method_number_t answer, moment until);
  /// Why the broker takes no messages now (an alarm of its memory or its disk); empty: it does.
  /// Meanwhile nothing is written: what lies in the buffers of the system would be stored when the
  /// alarm is over, whether or not this connection still exists.
  [[nodiscard]] const std::string& blocked() const noexcept { return blocked_; }
  /// When the last alarm was over; long ago where there was none.
  [[nodiscard]] moment unblocked_at() const noexcept { return unblocked_at_; }

  [[nodiscard]] std::size_t frame_max() const;
  /// The broker's, as it says: "4.1.2"; empty: it does not.
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// When the broker wants to get a sign of life; far away where none was agreed.
  [[nodiscard]] moment next_heartbeat() const noexcept;
  /// Makes a heartbeat outgoing when it is due.
  void beat();

 private:
  using decoder = base::unique_handle<amqp_connection_state_t_, amqp_destroy_connection>;

  [[nodiscard]] result<void> await(amqp_method_number_t answer, moment until);
  [[nodiscard]] result<void> log_in(const std::string& name, moment until);
  [[nodiscard]] std::string_view mechanism() const;
  [[nodiscard]] bool append_start_ok(const std::string& name);
  void take_bytes(std::string_view bytes) override;
  [[nodiscard]] std::string end_hint() const override;
  [[nodiscard]] bool takes_bytes() const override { return blocked_.empty(); }
  void take(const amqp_frame_t& frame);
  void take_connection_method(const amqp_method_t& method);
  void take_channel_method(const amqp_method_t& method);
  void take_start(const amqp_connection_start_t& start);
  void take_tune(const amqp_connection_tune_t& tune);
  void take_connection_close(const amqp_connection_close_t& closed);
  void take_channel_close(const amqp_channel_close_t& closed);
  void take_body(std::string_view part);
  void finish_content();
  [[nodiscard]] std::string broker_words(amqp_bytes_t text) const;

  const address& where_;
  channel_listener& listener_;
  decoder decoder_;
  std::optional<error> channel_closed_;
  bool login_sent_ = false;
  bool logged_in_ = false;
  bool closing_ = false;
  std::string version_;
  std::string blocked_;  ///< why the broker takes no messages now; empty: it does
  moment unblocked_at_{};
  amqp_method_number_t awaited_ = 0;
  std::optional<received_content> content_;
  std::uint64_t missing_ = 0;  ///< bytes of content_
};

}  // namespace onceguard::messaging::rabbitmq
