#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "messaging/broker_adapter.hpp"
#include "messaging/holding_consumer.hpp"
#include "messaging/mqtt/acknowledgements.hpp"
#include "messaging/mqtt/mqtt_broker.hpp"
#include "messaging/mqtt/mqtt_connection.hpp"
#include "messaging/mqtt/reason.hpp"
#include "messaging/mqtt/wire_message.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr std::size_t most_in_flight = 65'535;  // Receive Maximum has 16 bits
/// So many messages of QoS 0, which no limit of the protocol holds back, wait; more are dropped.
constexpr std::size_t most_unlimited = 10'000;
constexpr std::uint16_t subscription_packet = 1;

/// What MQTT does, for consumers of one topic:
/// - A delivery belongs to the consumer as long as it is connected. There is no way to give one
///   back: this consumer keeps it, and hands it out again.
/// - A message that comes again after the connection broke is marked as that, and not counted. So
///   the count begins anew, at 2.
/// - The order is that of the publication on each topic. A shared subscription has none, as each of
///   its consumers gets a part of the messages.
/// - As long as the session lives, the server may deliver again what is not acknowledged.
consumer_traits traits_of_topic(const address& source) {
  consumer_traits out;
  out.delays = true;
  out.counts = true;
  out.ordered = source.group.empty();
  return out;
}

/// Received, and not acknowledged.
struct kept_delivery {
  std::uint64_t number = 0;  ///< among the acknowledgements; zero: of QoS 0
  std::uint32_t count = 1;
  message received;
};

class mqtt_consumer final : public holding_consumer<kept_delivery>, private packet_listener {
 public:
  mqtt_consumer(const address& source, const broker_params& params)
      : holding_consumer(std::min(params.in_flight, most_in_flight)),
        timeout_(params.timeout),
        in_flight_(std::min(params.in_flight, most_in_flight)),
        address_(source),
        traits_(traits_of_topic(address_)),
        topic_is_key_(traits_.ordered && address_.topic.find_first_of("+#") != std::string::npos),
        connection_(address_, timeout_, *this) {}
  ~mqtt_consumer() override { connection_.close(false, deadline()); }

  [[nodiscard]] result<void> open();

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

 private:
  /// Sends and takes what is possible without a wait, signs of life too.
  void catch_up() override;
  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override;
  [[nodiscard]] moment prolong(kept_delivery& /*kept*/, moment end) override { return end; }
  void confirm(std::uint64_t tag, kept_delivery& kept) override;
  void put_back(std::uint64_t tag, kept_delivery& kept, milliseconds delay) override;
  [[nodiscard]] error refusal(errc code, std::string_view words) const override {
    return connection_.fault(code, words);
  }

  void take_message(const publication& arrived) override;
  void take_reply(packet_type type, const reply& arrived) override;

  [[nodiscard]] moment deadline() const { return base::boot_now() + timeout_; }
  [[nodiscard]] result<void> check_session(const session_answer& answer);
  [[nodiscard]] result<void> subscribe(moment until);
  void move_due();
  [[nodiscard]] std::vector<delivery> take_waiting(std::size_t most);

  const milliseconds timeout_;
  const std::size_t in_flight_;
  const address address_;
  const consumer_traits traits_;
  const bool topic_is_key_;
  connection connection_;
  std::optional<reply> subscribed_;
  acknowledgements acknowledgements_;
  std::deque<kept_delivery> waiting_;                ///< to be handed out
  std::multimap<moment, kept_delivery> given_back_;  ///< to be handed out from then on
};

// --- the session --------------------------------------------------------------------------------

result<void> mqtt_consumer::open() {
  const auto until = deadline();
  session_request request;
  request.client_id = address_.client_id;
  request.keep_alive = static_cast<std::uint16_t>(address_.keep_alive.count());
  request.session_expiry = static_cast<std::uint32_t>(address_.session_expiry.count());
  request.receive_maximum = static_cast<std::uint16_t>(in_flight_);
  request.login = address_.url.login;
  const auto answer = connection_.open(request, until);
  if (!answer) return answer.error();
  auto done = check_session(*answer);
  if (done) done = subscribe(until);
  // What was made for this consumer alone, which does not work, would collect messages.
  if (!done && !answer->present) connection_.close(true, until);
  return done;
}

result<void> mqtt_consumer::check_session(const session_answer& answer) {
  if (!answer.present && !address_.create) {
    return connection_.fault(errc::not_found, "the server has no session of this client_id");
  }
  const auto wanted = static_cast<std::uint32_t>(address_.session_expiry.count());
  const auto given = answer.details.number(property_id::session_expiry, wanted);
  if (given < wanted) {
    return connection_.fault(errc::invalid_argument,
                             "the server keeps a session for " + std::to_string(given) +
                                 " s only, and the parameter session_expiry asks for " +
                                 std::to_string(wanted) + " s");
  }
  if (!address_.group.empty() &&
      answer.details.number(property_id::shared_subscription_available, 1) == 0) {
    return connection_.fault(errc::invalid_argument,
                             "the server has no shared subscriptions, as the parameter group asks "
                             "for");
  }
  return {};
}

/// Also in a session that was kept: the topic may be another one now.
result<void> mqtt_consumer::subscribe(moment until) {
  connection_.add(encode_subscribe(subscription_packet, address_.filter()));
  const auto answered = connection_.wait_for([this] { return subscribed_.has_value(); }, until);
  if (!subscribed_) return answered;
  if (subscribed_->reason >= first_failure) {
    return connection_.fault(errc::conflict,
                             "the server refuses the subscription: " +
                                 words_of(subscribed_->reason, subscribed_->details));
  }
  if (subscribed_->reason == 0) {
    return connection_.fault(errc::invalid_argument,
                             "the server grants QoS 0 only, which loses messages");
  }
  return connection_.state();
}

// --- receiving ----------------------------------------------------------------------------------

void mqtt_consumer::take_message(const publication& arrived) {
  kept_delivery next;
  if (arrived.packet_id != 0) {
    next.number = acknowledgements_.add(arrived.packet_id);
    if (next.number == 0) throw malformed{"a packet id that is in use"};
  } else if (waiting_.size() >= in_flight_ + most_unlimited) {
    return;
  }
  next.count = arrived.repeated ? 2 : 1;
  next.received = message_of(arrived);
  if (topic_is_key_ && next.received.order_key.empty()) next.received.order_key = arrived.topic;
  waiting_.push_back(std::move(next));
}

void mqtt_consumer::take_reply(packet_type type, const reply& arrived) {
  if (type != packet_type::suback || arrived.packet_id != subscription_packet || subscribed_) {
    throw malformed{"an answer to nothing"};
  }
  subscribed_ = arrived;
}

std::vector<delivery> mqtt_consumer::fetch(std::size_t most, moment until) {
  while (true) {
    catch_up();
    move_due();
    auto out = take_waiting(most);
    if (!out.empty() || base::boot_now() >= until) return out;
    auto next = std::min(until, connection_.next_duty());
    if (!given_back_.empty()) next = std::min(next, given_back_.begin()->first);
    static_cast<void>(connection_.wait(next));
  }
}

/// What was given back comes before what has never been tried: it arrived earlier.
void mqtt_consumer::move_due() {
  const auto now = base::boot_now();
  const auto end = given_back_.upper_bound(now);
  std::vector<kept_delivery> due;
  for (auto i = given_back_.begin(); i != end; ++i) due.push_back(std::move(i->second));
  given_back_.erase(given_back_.begin(), end);
  for (auto i = due.rbegin(); i != due.rend(); ++i) waiting_.push_front(std::move(*i));
}

std::vector<delivery> mqtt_consumer::take_waiting(std::size_t most) {
  std::vector<delivery> out;
  const auto room = room_for(most);
  while (!waiting_.empty() && out.size() < room) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    auto& given = out.emplace_back(delivery{0, next.received, next.count});
    given.tag = hold(std::move(next));
  }
  return out;
}

// --- settling -----------------------------------------------------------------------------------

void mqtt_consumer::catch_up() {
  static_cast<void>(connection_.advance());
  connection_.keep_alive();
  require(connection_.pending() ? connection_.advance() : connection_.state());
}

void mqtt_consumer::confirm(std::uint64_t /*tag*/, kept_delivery& kept) {
  if (kept.number == 0) return;
  for (const auto packet_id : acknowledgements_.settle(kept.number)) {
    connection_.add(encode_puback(packet_id));
  }
  if (auto sent = connection_.flush(deadline()); !sent) {
    auto why = sent.error();
    why.effect = effect::unknown;
    throw failed{std::move(why)};
  }
}

void mqtt_consumer::put_back(std::uint64_t /*tag*/, kept_delivery& kept, milliseconds delay) {
  ++kept.count;
  given_back_.emplace(base::boot_now() + delay, std::move(kept));
}

}  // namespace

result<std::unique_ptr<messaging::consumer>> open_consumer(const broker_params& params) {
  return open_by<read_address, mqtt_consumer>(params);
}

}  // namespace onceguard::messaging::mqtt
