#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "messaging/broker_adapter.hpp"
#include "messaging/holding_consumer.hpp"
#include "messaging/rabbitmq/amqp_connection.hpp"
#include "messaging/rabbitmq/management.hpp"
#include "messaging/rabbitmq/rabbitmq_broker.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

constexpr std::size_t most_prefetch = 65'535;  // basic.qos has 16 bits for it

/// RabbitMQ knows a delivery by its tag.
struct no_receipt {};

/// What RabbitMQ does, for consumers of one queue:
/// - A delivery belongs to the consumer as long as its channel is open. RabbitMQ closes a channel
///   that does not acknowledge a delivery for `consumer_timeout` (30 minutes, if its operators have
///   not changed it): the consumer's calls then fail, and everything is delivered again. The time
///   begins when RabbitMQ sends the delivery, which may be before receive returns it.
/// - The order is that of the publication on one channel, through one exchange to one queue, at one
///   consumer; only what is delivered again comes late (a quorum queue puts it at its begin or its
///   end, a classic queue at the old position if it can). With several consumers on the queue each
///   gets a part of the messages, and so of a key, unless the queue has x-single-active-consumer.
/// - Only quorum queues count deliveries, returned ones too, and drop a message at x-delivery-limit
///   (20 from release 4.0 on, unless it is set). A classic queue has one mark for "delivered
///   before".
/// - The prefetch of a consumer never changes, and bounds what others on the queue don't get: the
///   channel gets further consumers when all that RabbitMQ may send is held and receive asks for
///   more, and is rid of them when little is held.
consumer_traits traits_of_queue(const address& where) {
  consumer_traits out;
  out.dead_letters = where.dead_letters;
  out.counts = true;
  out.counts_returns = true;
  out.ordered = true;
  out.limit_known = !where.management.empty();
  return out;
}

class rabbitmq_consumer final : public holding_consumer<no_receipt>, private channel_listener {
 public:
  rabbitmq_consumer(const address& where, const broker_params& params)
      : holding_consumer(params.in_flight),
        params_(params),
        where_(where),
        traits_(traits_of_queue(where_)),
        connection_(where_, *this) {}
  ~rabbitmq_consumer() override { connection_.close(deadline()); }

  /// Connects, and reads what the queue is.
  [[nodiscard]] result<void> read_queue(moment until) {
    if (auto done = connection_.open(params_.name, until); !done) return done;
    if (auto done = connection_.open_channel(until); !done) return done;
    if (auto done = declare(until); !done) return done;
    return where_.management.empty() ? result<void>() : read_limits(until);
  }

  [[nodiscard]] result<void> open() {
    const auto until = deadline();
    if (auto done = read_queue(until); !done) return done;
    return add_consumer(until);
  }

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

  /// What is given back to a queue from which this channel consumes may come here again, and each
  /// time counts.
  [[nodiscard]] result<void> stop_intake() override {
    static_cast<void>(connection_.advance());
    if (auto usable = check(); !usable) return usable;
    if (auto done = cancel_down_to(0); !done) return done;
    while (!arrived_.empty()) {
      const auto tag = arrived_.front().tag;
      arrived_.pop_front();
      hold_as(tag, {});
      if (auto done = give_back(tag, milliseconds(0)); !done) return done;
    }
    static_cast<void>(connection_.flush(deadline()));
    return check();
  }

 private:
  void catch_up() override {
    static_cast<void>(connection_.advance());
    require(check());
  }

  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override {
    if (auto fitted = fit_prefetch(most); !fitted) throw failed{lost(fitted.error())};
    for (;;) {
      require(check());
      if (!arrived_.empty() || base::boot_now() >= until) return take_arrived(most);
      require(keep_alive());
      static_cast<void>(connection_.wait(std::min(until, next_duty())));
    }
  }

  [[nodiscard]] moment prolong(no_receipt& /*receipt*/, moment end) override {
    connection_.beat();
    catch_up();
    return end;
  }

  void confirm(std::uint64_t tag, no_receipt& /*receipt*/) override {
    amqp_basic_ack_t fields{tag, 0};
    settle(AMQP_BASIC_ACK_METHOD, &fields);
  }

  void put_back(std::uint64_t tag, no_receipt& /*receipt*/, milliseconds /*delay*/) override {
    amqp_basic_reject_t fields{tag, 1};
    settle(AMQP_BASIC_REJECT_METHOD, &fields);
  }

  void bury(std::uint64_t tag, no_receipt& /*receipt*/) override {
    if (!traits_.dead_letters) {
      throw failed{
          refusal(errc::invalid_argument, "the URL does not say dead_letters=yes for this queue")};
    }
    amqp_basic_reject_t fields{tag, 0};
    settle(AMQP_BASIC_REJECT_METHOD, &fields);
  }

  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override {
    if (auto done = declare(deadline()); !done) throw failed{lost(done.error())};
    return waiting_;
  }

  [[nodiscard]] error refusal(errc code, std::string_view words) const override {
    return connection_.fault(code, words);
  }

  void take_method(const amqp_method_t& method) override {
    switch (method.id) {
      case AMQP_BASIC_DELIVER_METHOD: {
        const auto& fields = *static_cast<const amqp_basic_deliver_t*>(method.decoded);
        coming_.tag = fields.delivery_tag;
        coming_.count = fields.redelivered != 0 ? 2 : 1;
        return;
      }
      case AMQP_QUEUE_DECLARE_OK_METHOD:
        waiting_ = static_cast<const amqp_queue_declare_ok_t*>(method.decoded)->message_count;
        return;
      case AMQP_BASIC_CANCEL_METHOD:
        cancelled_ = true;
        return;
      default:
        return;
    }
  }

  void take_content(received_content content) override {
    if (content.deliveries_before) {
      coming_.count = std::max(coming_.count, *content.deliveries_before + 1);
    }
    coming_.received = std::move(content.received);
    arrived_.push_back(std::exchange(coming_, {}));
  }

  [[nodiscard]] moment deadline() const { return base::boot_now() + params_.timeout; }

  /// Of one consumer of the channel.
  [[nodiscard]] std::size_t first_prefetch() const {
    const auto wanted = params_.prefetch == 0 ? params_.in_flight : params_.prefetch;
    return std::min({wanted, params_.in_flight, most_prefetch});
  }
  [[nodiscard]] amqp_basic_qos_t prefetch() const {
    // global = 0: in RabbitMQ the limit of each consumer that begins on the channel from now on,
    // not of the whole channel (rabbitmq.com/docs/consumer-prefetch).
    return {0, static_cast<std::uint16_t>(last_prefetch_), 0};
  }
  [[nodiscard]] std::string consumer_tag(std::size_t number) const {
    const auto suffix = number == 0 ? std::string() : " " + std::to_string(number + 1);
    return params_.name.substr(0, longest_text - suffix.size()) + suffix;
  }

  [[nodiscard]] result<void> add_consumer(moment until) {
    // What receive has not returned yet counts, too: all of it belongs to this consumer.
    const auto more = capacity_ == 0 ? first_prefetch() : capacity_;
    last_prefetch_ = std::min({more, params_.in_flight - capacity_, most_prefetch});
    amqp_basic_qos_t qos = prefetch();
    if (auto done = connection_.call(AMQP_BASIC_QOS_METHOD, &qos, AMQP_BASIC_QOS_OK_METHOD, until);
        !done) {
      return done;
    }
    const auto tag = consumer_tag(consumers_);
    amqp_basic_consume_t consume{};
    consume.queue = bytes_of(where_.queue);
    consume.consumer_tag = bytes_of(tag);
    auto done =
        connection_.call(AMQP_BASIC_CONSUME_METHOD, &consume, AMQP_BASIC_CONSUME_OK_METHOD, until);
    if (!done) return done;
    ++consumers_;
    capacity_ += last_prefetch_;
    return {};
  }

  /// Lets RabbitMQ send as many as the caller holds and asks for.
  [[nodiscard]] result<void> fit_prefetch(std::size_t most) {
    const auto here = all_held().size() + arrived_.size();
    const bool asks_for_more = most > arrived_.size() && here >= capacity_;
    if (asks_for_more && capacity_ < params_.in_flight) return add_consumer(deadline());
    if (here > first_prefetch() / 2) return {};
    if (auto done = cancel_down_to(1); !done) return done;
    capacity_ = first_prefetch();
    return {};
  }

  /// The last ones end first. They keep what they hold.
  [[nodiscard]] result<void> cancel_down_to(std::size_t rest) {
    while (consumers_ > rest) {
      const auto tag = consumer_tag(--consumers_);
      amqp_basic_cancel_t cancel{bytes_of(tag), 1};
      if (!append_method(connection_.outgoing(), the_channel, AMQP_BASIC_CANCEL_METHOD, &cancel)) {
        return connection_.fault(errc::conflict, "AMQP can't carry the request");
      }
    }
    return {};
  }

  /// Asks for the queue without making one.
  [[nodiscard]] result<void> declare(moment until) {
    amqp_queue_declare_t fields{};
    fields.queue = bytes_of(where_.queue);
    fields.passive = 1;
    return connection_.call(AMQP_QUEUE_DECLARE_METHOD, &fields, AMQP_QUEUE_DECLARE_OK_METHOD,
                            until);
  }

  /// Of the queue's arguments and policies, which AMQP does not tell.
  [[nodiscard]] result<void> read_limits(moment until) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    const auto found = ask_management(where_, connection_.version(), left);
    if (!found) return found.error();
    if (where_.dead_letters && !found->has_dead_letters) {
      return connection_.fault(errc::invalid_argument,
                               "the URL says dead_letters=yes, and the queue has no dead-letter "
                               "exchange: RabbitMQ drops what is rejected");
    }
    if (!found->redeliveries_max) return {};
    traits_.deliveries_max = *found->redeliveries_max + 1;
    traits_.limit_name = "the queue's delivery-limit " + std::to_string(*found->redeliveries_max);
    return {};
  }

  /// Whoever closed the channel of a consumer that worked before: everything is delivered again,
  /// and another consumer may go on.
  [[nodiscard]] static error lost(error why) {
    if (why.code == errc::conflict) why.code = errc::broker_unreachable;
    return why;
  }

  /// Whether the consumer is as it was opened.
  [[nodiscard]] result<void> check() {
    if (ended_) return *ended_;
    if (cancelled_ && connection_.state()) {
      // The queue was deleted, or its node is gone: the broker does not say which.
      if (declare(deadline())) {
        ended_ = connection_.fault(errc::broker_unreachable, "the broker ended the consumer");
      }
    }
    if (auto usable = connection_.state(); !usable) ended_ = lost(usable.error());
    if (!ended_) return {};
    arrived_.clear();
    all_held().clear();
    return *ended_;
  }

  /// AMQP has no answer to these methods. An unknown tag would make the broker close the channel.
  void settle(amqp_method_number_t id, void* fields) {
    if (!append_method(connection_.outgoing(), the_channel, id, fields)) {
      throw failed{refusal(errc::conflict, "AMQP can't carry the request")};
    }
    static_cast<void>(connection_.flush(deadline()));
    if (auto usable = check(); !usable) {
      auto why = usable.error();
      why.effect = effect::unknown;
      throw failed{std::move(why)};
    }
  }

  [[nodiscard]] std::vector<delivery> take_arrived(std::size_t most) {
    std::vector<delivery> out;
    while (!arrived_.empty() && out.size() < most) {
      hold_as(arrived_.front().tag, {});
      out.push_back(std::move(arrived_.front()));
      arrived_.pop_front();
    }
    return out;
  }

  /// The time of the next sign of life that is owed, either way.
  [[nodiscard]] moment next_duty() const {
    const auto probe = (probed_ ? *probed_ : connection_.last_arrival()) + params_.timeout;
    return std::min(connection_.next_heartbeat(), probe);
  }

  /// Sends signs of life, and asks for one where nothing arrived for as long as the timeout. (The
  /// heartbeats that are agreed with the broker are too slow for that.)
  [[nodiscard]] result<void> keep_alive() {
    const auto now = base::boot_now();
    connection_.beat();
    if (probed_ && connection_.last_arrival() >= *probed_) probed_.reset();
    if (probed_) {
      if (now < *probed_ + params_.timeout) return {};
      static_cast<void>(connection_.give_up());
      return check();
    }
    if (now < connection_.last_arrival() + params_.timeout) return {};
    auto same = prefetch();  // changes nothing, and is answered by the channel alone
    if (append_method(connection_.outgoing(), the_channel, AMQP_BASIC_QOS_METHOD, &same)) {
      probed_ = now;
    }
    return {};
  }

  const broker_params params_;
  const address where_;
  consumer_traits traits_;  // the same once it is open
  connection connection_;
  delivery coming_{};             ///< its content has not arrived yet
  std::deque<delivery> arrived_;  ///< not returned by receive yet
  std::size_t consumers_ = 0;     ///< of the channel
  std::size_t capacity_ = 0;      ///< of all of them: so many may RabbitMQ send
  std::size_t last_prefetch_ = 0;
  std::uint64_t waiting_ = 0;
  bool cancelled_ = false;
  std::optional<moment> probed_;
  std::optional<error> ended_;
};

}  // namespace

result<queue_report> examine_queue(const broker_params& params) {
  const auto where = read_address(params.url, broker_role::consumer);
  if (!where) return where.error();
  const auto until = base::boot_now() + params.timeout;
  rabbitmq_consumer looking(*where, params);
  if (auto done = looking.read_queue(until); !done) return done.error();
  queue_report out;
  out.traits = looking.traits();
  if (!out.traits.limit_known) {
    out.weaknesses.emplace_back(
        "AMQP does not tell the queue's delivery limit, beyond which RabbitMQ drops messages or "
        "moves them away; release 4 gives a quorum queue a limit of 20",
        "give `from` the management API: &management=http://HOST:15672");
  }
  return out;
}

result<std::unique_ptr<messaging::consumer>> open_consumer(const broker_params& params) {
  return open_by<read_address, rabbitmq_consumer>(params);
}

}  // namespace onceguard::messaging::rabbitmq
