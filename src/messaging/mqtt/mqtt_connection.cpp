#include "messaging/mqtt/mqtt_connection.hpp"

#include <algorithm>

#include "messaging/mqtt/reason.hpp"

namespace onceguard::messaging::mqtt {
namespace {

/// Signs of life within the interval that was agreed.
constexpr int signs_per_interval = 3;
/// The code of MQTT 3.1.1 for a version that the server does not speak (its section 3.2.2.3).
constexpr std::uint8_t older_unsupported_version = 0x01;

}  // namespace

result<session_answer> connection::open(const session_request& request, moment until) {
  if (auto done = connect(address_.tls, until); !done) return done.error();
  interval_ = std::chrono::seconds(request.keep_alive);
  add(encode(request));
  const auto answered = wait_for([this] { return answer_.has_value(); }, until);
  if (!answer_) return answered.error();
  // A server that refuses the client closes the connection at once: this is the better reason.
  if (auto accepted = accept(*answer_); !accepted) {
    broken_.reset();
    end(accepted.error());
    return *broken_;
  }
  return *answer_;
}

result<void> connection::accept(const session_answer& answer) {
  if (answer.reason == unsupported_version || answer.reason == older_unsupported_version) {
    return fault(errc::broker_unreachable, "the server does not speak MQTT 5");
  }
  if (answer.reason != 0) {
    const auto code =
        answer.reason == client_id_not_valid ? errc::invalid_argument : errc::broker_unreachable;
    return fault(code, "the server refuses the client: " + words_of(answer.reason, answer.details));
  }
  if (answer.details.number(property_id::maximum_qos, 2) < 1) {
    return fault(errc::invalid_argument, "the server has QoS 0 only, which loses messages");
  }
  const auto given = answer.details.number(property_id::server_keep_alive,
                                           static_cast<std::uint32_t>(interval_.count()));
  interval_ = std::chrono::seconds(given);
  return {};
}

void connection::close(bool forget, moment until) {
  if (broken_) return;
  closing_ = true;
  add(encode_disconnect(forget));
  await_end(until);
}

/// Mosquitto 2.0 does not say that another client took the session over.
std::string connection::end_hint() const {
  if (!answer_) return " before it took the client";
  if (address_.client_id.empty()) return {};
  return ", or another client with the client_id " + address_.client_id + " made it so";
}

void connection::take_bytes(std::string_view bytes) {
  arrived_ += bytes;
  std::size_t done = 0;
  try {
    while (!broken_) {
      const auto next = first_packet_frame(std::string_view(arrived_).substr(done));
      if (next.size == 0) break;
      take(next);
      done += next.size;
    }
  } catch (const malformed& found) {
    end(fault(errc::broker_unreachable,
              std::string("the server sent what is not of MQTT 5: ") + found.why));
  }
  if (!broken_) arrived_.erase(0, done);
}

void connection::take(const frame& packet) {
  const auto type = type_of(packet);
  if (!answer_ && type != packet_type::connack) throw malformed{"something before CONNACK"};
  switch (type) {
    case packet_type::connack:
      if (answer_) throw malformed{"a second CONNACK"};
      answer_ = decode_connack(packet);
      return;
    case packet_type::publish:
      // What arrives after the goodbye was not asked for any more.
      if (!closing_) listener_.take_message(decode_publish(packet));
      return;
    case packet_type::puback:
      return listener_.take_reply(type, decode_puback(packet));
    case packet_type::suback:
      return listener_.take_reply(type, decode_suback(packet));
    case packet_type::pingresp:
      return;
    case packet_type::disconnect: {
      const auto reason = decode_disconnect(packet);
      auto why = "the server ended the connection: " + words_of(reason.reason, reason.details);
      if (reason.reason == session_taken_over) {
        why += ", by another client with the client_id " + address_.client_id;
      }
      return end(fault(errc::broker_unreachable, why));
    }
    default:
      throw malformed{"a packet that was not asked for"};
  }
}

void connection::keep_alive() {
  if (broken_) return;
  const auto now = base::boot_now();
  if (unanswered_ping_ && last_arrival_ >= *unanswered_ping_) unanswered_ping_.reset();
  if (unanswered_ping_) {
    if (now >= *unanswered_ping_ + timeout_) static_cast<void>(give_up());
    return;
  }
  if (now < next_duty()) return;
  add(encode_pingreq());
  unanswered_ping_ = now;
}

moment connection::next_duty() const {
  if (unanswered_ping_ && last_arrival_ < *unanswered_ping_) return *unanswered_ping_ + timeout_;
  const auto silent = last_arrival_ + timeout_;
  if (interval_.count() == 0) return silent;
  return std::min(silent, last_sent_ + milliseconds(interval_) / signs_per_interval);
}

}  // namespace onceguard::messaging::mqtt
