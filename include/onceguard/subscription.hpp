// A subscription: the loop between the consumer of a broker and an inbox. Receives, hands the
// messages to workers, extends their hold meanwhile, and tells the broker what became of each:
// acknowledge, give back after a pause, or dead-letter. Connects again after the broker was away.
//
//   subscription_params params;
//   params.queue.url = "amqp://127.0.0.1/orders?dead_letters=yes";
//   run_subscription(params, stop, [] {
//     auto on = std::make_shared<connection>();           // a worker's own
//     return [on](std::span<const delivered> batch) {
//       return postgres::inbox(on->get(), "billing").process(messages_of(batch), handler);
//     };
//   });
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>
#include <onceguard/inbox.hpp>

namespace onceguard::messaging {
inline namespace v1 {

/// What happens to the later messages of an order key while one of them waits for another attempt.
enum class order_rule : std::uint8_t {
  skip,  ///< they go on: only messages that succeed at once keep their order
  stop,  ///< they wait until the failed one is handled or dead
};

/// A delivery whose message has an id.
struct delivered {
  const delivery* source = nullptr;  ///< never null
  std::string id;                    ///< of the message
  /// Failed attempts that don't count, as far as this subscription knows: whoever does the work was
  /// away (inbox_outcome::away).
  std::uint32_t excused = 0;
  /// Failed attempts of this kind that count, since other messages were handled meanwhile.
  std::uint32_t blamed = 0;
};

/// The views that an inbox takes.
[[nodiscard]] std::vector<inbox_message> messages_of(std::span<const delivered> batch);

/// The header of a dead letter that says why the message is dead, or its outcome unknown.
inline constexpr const char* reason_header = "onceguard-reason";
/// Its header with the name of the inbox_result: "dead", "reused" or "unknown".
inline constexpr const char* outcome_header = "onceguard-outcome";
/// Its header with broker_params::name of the queue: whose record it has.
inline constexpr const char* subscriber_header = "onceguard-subscriber";
/// Its header with the id of the message; left out where that is no printable ASCII.
inline constexpr const char* key_header = "onceguard-key";
/// Its header with the time since which it lies there, such as "2026-01-31T12:00:00.250Z".
inline constexpr const char* since_header = "onceguard-since";

/// What happened to a subscription.
enum class subscription_event_kind : std::uint8_t {
  received,        ///< a delivery
  settled,         ///< the broker got the reply that the outcome asks for
  dead_lettered,   ///< the same, and the message is stored among the dead letters
  not_settled,     ///< the broker did not take the reply: it delivers the message again
  connected,       ///< to the broker
  backlog,         ///< the broker was asked how many messages wait; each ten seconds
  broker_away,     ///< the connection broke, or none could be made; `text` says why
  store_away,      ///< a worker failed with an error; `text` says why
  circuit_open,    ///< what the work needs is away; one message at a time is tried; `text` says why
  circuit_closed,  ///< it is there again
  last_delivery,   ///< the broker's own limit allows no other delivery of this message
  dropped,         ///< the broker has given up a message by itself; `text` says which
};

/// Something happened to a subscription. The views end with the call.
struct subscription_event {
  /// Says which members count.
  subscription_event_kind kind = subscription_event_kind::received;
  /// received, last_delivery, settled, dead_lettered, not_settled
  const delivery* message = nullptr;
  const inbox_outcome* outcome = nullptr;  ///< settled, dead_lettered, not_settled
  std::string_view id{};                   ///< of the message, where it has one
  std::string_view text{};                 ///< for people
  std::uint64_t backlog = 0;               ///< backlog: messages that wait
};

/// How a subscription works.
struct subscription_params {
  /// The queue. `in_flight` bounds what is received and not yet settled, but for `waiting`.
  broker_params queue;
  /// So many messages more may be held which wait for another attempt, where the broker counts what
  /// is given back (consumer_traits::counts_returns).
  std::size_t waiting = 256;
  /// Where dead letters and messages of unknown outcome are published, with their reason in the
  /// header `onceguard-reason`. Empty: the broker's own destination
  /// (consumer_traits::dead_letters).
  std::optional<broker_params> dead_letters;
  /// Without a destination for dead letters: acknowledge them, which drops their payload.
  bool drop_dead_letters = false;
  /// Threads, each with a worker of its own.
  std::size_t workers = 1;
  /// Messages that a worker gets at once, at most.
  std::size_t batch = 64;
  /// So many attempts the inbox makes: a queue that delivers a message less often is refused. 0:
  /// not checked.
  std::uint32_t attempts = 0;
  /// So long the back-offs of all attempts take: a queue that keeps a message no longer is refused.
  milliseconds backoffs{0};
  /// For messages with an order key.
  order_rule order = order_rule::skip;
  /// The id of a message; nullopt, or an exception: there is none, and the message is dead.
  /// Default: the property `message_id`.
  std::function<std::optional<std::string>(const message&)> id_of;
  /// The first pause after an error of the broker or of the store; doubles up to 30 seconds.
  milliseconds retry{200};
  /// Wait for a queue that is missing at the start, as for one that is missing later.
  bool wait_for_queue = false;
  /// Called on the subscription's thread; must not throw.
  std::function<void(const subscription_event&)> on_event;
};

/// Handles the messages of a batch, in their order, and returns as many outcomes. An error, or
/// another number of them: none of the messages is known to be handled; each is tried again, by
/// itself, so that one bad message does not fail the others; and the worker is made anew. After an
/// error of a store or a broker (errc::store_…, broker_unreachable, overloaded), or an outcome with
/// `away`, the circuit breaker is open: nothing more is received, and one message at a time is
/// tried, after pauses that double, until one says that the work is possible again.
using batch_worker =
    std::function<result<std::vector<inbox_outcome>>(std::span<const delivered> batch)>;

/// Runs until a stop is requested; then waits for the batches that run, and gives back the rest.
/// Before, what waits is held, or parked at the broker where nothing counts it.
/// Blocks. An error of the broker ends nothing: the subscription connects again.
/// `make_worker` is called on each worker's thread; what it throws counts as an error of the store.
///
/// Errors: nothing was received yet. errc::invalid_argument, errc::not_found: as for open_consumer;
/// errc::conflict: there is no destination for dead letters, `retention` of the inbox (0: not
/// checked) does not exceed the time for which the broker may redeliver, or the broker gives a
/// message up before all `attempts` are made.
[[nodiscard]] result<void> run_subscription(const subscription_params& params, std::stop_token stop,
                                            const std::function<batch_worker()>& make_worker,
                                            milliseconds retention = milliseconds(0));

}  // namespace v1
}  // namespace onceguard::messaging
