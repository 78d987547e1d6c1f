// Messages of brokers that deliver at least once: one contract for the consumers, and one for the
// publishers, of every broker. A program knows the brokers whose components it was linked with.
//
// A consumer learns that a message is gone only from acknowledge: until that has succeeded, the
// broker may deliver the message again, to this consumer or to another one. What makes a message
// take effect once is the inbox (onceguard/inbox.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

/// Brokers, their consumers and their publishers.
namespace onceguard::messaging {
inline namespace v1 {

/// A name and its value, as bytes.
using attribute = std::pair<std::string, std::string>;

/// What a sender sends.
struct message {
  std::string payload;  ///< any bytes
  /// Set by the sender's program. Names may repeat where the broker lets them.
  std::vector<attribute> headers{};
  /// Of the broker's protocol. Each broker knows `message_id`, the id that the sender gave to the
  /// message; the names of the others are listed in docs/messages.md.
  std::vector<attribute> properties{};
  /// Messages with the same key are delivered in the order of their publication, where the broker
  /// keeps one (consumer_traits::ordered); empty: no order is asked for.
  std::string order_key{};
};

/// The value of the first header with this name, compared without case; null: there is none.
[[nodiscard]] const std::string* header_of(const message& sent, std::string_view name) noexcept;
/// The value of the property with this name; null: there is none.
[[nodiscard]] const std::string* property_of(const message& sent, std::string_view name) noexcept;

/// One delivery of a message.
struct delivery {
  std::uint64_t tag = 0;  ///< names the delivery in calls of the consumer that received it
  message received{};     ///< as its sender sent it, as far as the broker carries it
  /// 1 for the first delivery, as far as the broker counts them: it may count too few.
  std::uint32_t count = 1;
};

/// What a consumer's broker does.
struct consumer_traits {
  /// How long a delivery belongs to the consumer without extend; afterwards the broker may deliver
  /// the message again while the first delivery is still worked on. Zero: as long as the consumer
  /// is connected.
  milliseconds hold{0};
  /// give_back observes its delay. False: the message is delivered again at once.
  bool delays = false;
  /// What is given back counts as a delivery, and the broker may drop a message, or move it to a
  /// place of its own, after a number of them. Hold a message that waits, and extend its hold.
  bool counts_returns = false;
  /// dead_letter works: the broker has a destination for dead letters. False: publish the message
  /// to a destination of your own, and acknowledge.
  bool dead_letters = false;
  /// delivery::count counts.
  bool counts = false;
  /// Messages with the same order_key arrive in order, at one consumer at a time.
  bool ordered = false;
  /// The broker deals out the queue in parts, each to one consumer at a time, and moves them when
  /// consumers come and go. What was not acknowledged moves with its part: the consumer that had it
  /// does not hold it any more.
  bool partitioned = false;
  /// acknowledge and dead_letter return before the broker knows. It learns in a bundle, a moment
  /// later: what was acknowledged right before a crash is delivered again.
  bool bundled = false;
  /// The longest time for which the broker may still redeliver a message; zero: without end. The
  /// retention of an inbox must exceed it.
  milliseconds redelivery{0};
  /// So often the broker delivers a message at most: then it drops it, or moves it to a place of
  /// its own. Zero: there is no such limit, or none that can be read.
  std::uint64_t deliveries_max = 0;
  /// False: the broker may have such a limit, and does not tell.
  bool limit_known = true;
  /// What its operators call the limit: for people.
  std::string limit_name{};
};

/// A message that the broker has given up by itself: its own limit of deliveries was passed.
struct dropped_message {
  std::string name;  ///< what the broker calls it, for people
};

/// A consumer: one connection to one queue of a broker. The calls block, for at most the timeout of
/// the parameters unless noted. One thread at a time.
///
/// Errors of all calls: errc::broker_unreachable: the connection broke, or the broker did not
/// answer in time. Every delivery that was not acknowledged will be delivered again: open another
/// consumer. errc::not_found: this consumer does not hold the delivery (any more): the broker
/// delivers the message again, or has done so. errc::conflict: the broker refuses; the detail has
/// its words.
class consumer {
 public:
  consumer() = default;
  consumer(const consumer&) = delete;
  consumer& operator=(const consumer&) = delete;
  /// Closes the connection. What was not acknowledged is delivered again, at the latest when its
  /// hold is over.
  virtual ~consumer() = default;

  /// The same as long as the consumer lives.
  [[nodiscard]] virtual const consumer_traits& traits() const noexcept = 0;

  /// Waits for at most `wait` for a delivery, and returns up to `most` that are there then; none is
  /// no error. Never more than the parameters' `in_flight` are held at a time: at that limit it
  /// returns none, and waits for as long.
  [[nodiscard]] virtual result<std::vector<delivery>> receive(std::size_t most,
                                                              milliseconds wait) = 0;
  /// The broker sends nothing more; what is held can still be settled. Not followed by receive.
  [[nodiscard]] virtual result<void> stop_intake() { return {}; }
  /// Gives a delivery its full hold again, from now on.
  [[nodiscard]] virtual result<void> extend(std::uint64_t tag) = 0;
  /// The message is done: the broker forgets it. On success the broker has confirmed it, if its
  /// protocol can; otherwise the request has been sent, or is sent soon if traits().bundled. Where
  /// the protocol has an order of acknowledgements (MQTT), it is sent when all earlier deliveries
  /// are settled.
  [[nodiscard]] virtual result<void> acknowledge(std::uint64_t tag) = 0;
  /// The message shall be delivered again, to whomever, after about the delay.
  [[nodiscard]] virtual result<void> give_back(std::uint64_t tag, milliseconds delay) = 0;
  /// The message goes to the broker's own destination for dead letters. errc::invalid_argument:
  /// traits().dead_letters is false; the consumer still holds the delivery.
  [[nodiscard]] virtual result<void> dead_letter(std::uint64_t tag) = 0;
  /// How many messages wait in the queue for a consumer, as the broker tells; nullopt: it does not.
  [[nodiscard]] virtual result<std::optional<std::uint64_t>> backlog() = 0;
  /// What the broker has given up since the last call, as far as it tells. Does not wait.
  [[nodiscard]] virtual std::vector<dropped_message> take_dropped() { return {}; }
};

/// What a publisher knows of a message after a publish that failed.
enum class publication : std::uint8_t {
  unknown,     ///< it may be stored
  stored,      ///< the broker has confirmed it all the same
  on_its_way,  ///< written, and not answered yet: see publisher::await_answers
  not_stored,  ///< it was not written, or the broker has refused it
};

/// Sends messages to one destination of a broker. The calls block, for at most the timeout of the
/// parameters. One thread at a time.
class publisher {
 public:
  publisher() = default;
  publisher(const publisher&) = delete;
  publisher& operator=(const publisher&) = delete;
  virtual ~publisher() = default;

  /// Publishes the messages in their order. On success the broker has confirmed that each of them
  /// is stored. errc::broker_unreachable with effect::unknown: some may be stored; publish all of
  /// them again, with the same message ids, on another publisher. errc::conflict and
  /// errc::invalid_argument: the broker can't take one of them (it is too large, a header is none
  /// of the broker's). errc::not_found: no queue takes messages from there. errc::store_full: the
  /// broker has no room, or takes nothing for now; the publisher may be used on. After each of
  /// these, some of the messages may be stored: progress() says which, as far as that is known.
  [[nodiscard]] virtual result<void> publish(std::span<const message> batch) = 0;
  /// After publish or await_answers failed: what became of each message of that batch. Empty: that
  /// is not known of any of them.
  [[nodiscard]] virtual std::vector<publication> progress() const { return {}; }
  /// Waits on for the messages that are on their way, which keeps them from being sent twice.
  /// Errors as for publish.
  [[nodiscard]] virtual result<void> await_answers() { return {}; }
};

/// Whether an error of publisher::publish is about one of the messages, so that publishing the same
/// batch again would be refused again.
[[nodiscard]] inline bool refuses_message(const error& why) noexcept {
  return why.code == errc::conflict || why.code == errc::invalid_argument;
}

/// How a broker is reached.
struct broker_params {
  /// `amqp://HOST/QUEUE`, `nats://HOST/STREAM/CONSUMER` …: the forms are in docs/messages.md.
  std::string url;
  /// Of each call, and of the connection's begin.
  milliseconds timeout{5'000};
  /// How many deliveries a consumer holds at most.
  std::size_t in_flight = 64;
  /// How many of them a broker that sends by itself may send before receive asks for more; 0: all.
  std::size_t prefetch = 0;
  /// What the broker's operators see as the consumer's name, where it has one.
  std::string name = "onceguard";
  /// A consumer whose queue is missing makes it, where it can and may: a table in PostgreSQL.
  bool make_queue = false;
};

/// Connects a consumer; blocks. errc::invalid_argument: the URL, or what it names is not as the
/// consumer needs it. errc::not_found: the broker has no such queue. errc::broker_unreachable: the
/// connection failed, or the broker refused it.
[[nodiscard]] result<std::unique_ptr<consumer>> open_consumer(const broker_params& params);
/// Connects a publisher; errors as for open_consumer.
[[nodiscard]] result<std::unique_ptr<publisher>> open_publisher(const broker_params& params);

}  // namespace v1
}  // namespace onceguard::messaging
