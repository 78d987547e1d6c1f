#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "messaging/broker_adapter.hpp"
#include "messaging/rabbitmq/amqp_connection.hpp"
#include "messaging/rabbitmq/rabbitmq_broker.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

/// What may wait in memory to be sent.
constexpr std::size_t most_outgoing = 1'048'576;
/// The place of a message whose caller has given it up.
constexpr auto of_former_batch = std::numeric_limits<std::size_t>::max();

/// Agrees on no heartbeats with the broker: a publisher may send nothing for hours, and holds
/// nothing at the broker in the meantime.
class rabbitmq_publisher final : public messaging::publisher, private channel_listener {
 public:
  rabbitmq_publisher(const address& where, const broker_params& params)
      : params_(params), where_(where), connection_(where_, *this) {}
  ~rabbitmq_publisher() override { connection_.close(deadline()); }

  [[nodiscard]] result<void> open() {
    const auto until = deadline();
    if (auto done = connection_.open(params_.name, until); !done) return done;
    if (auto done = begin_channel(until); !done) return done;
    return find_destination(until);
  }

  [[nodiscard]] result<void> publish(std::span<const message> batch) override {
    const auto until = deadline();
    static_cast<void>(connection_.advance());
    if (!connection_.state() && connection_.connected()) {
      // The broker closes a channel to refuse a message. The next messages may be better.
      if (auto done = begin_channel(until); !done) return done;
    }
    if (auto usable = connection_.state(); !usable) return usable;
    auto heads = encode(batch);
    if (!heads) return heads.error();
    for (auto& [tag, index] : unconfirmed_) index = of_former_batch;
    refused_.reset();
    progress_.assign(batch.size(), publication::not_stored);
    const auto busy = [this] { return !unconfirmed_.empty() || !connection_.blocked().empty(); };
    if (auto free = wait_while(busy, until); !free) return free;
    return send_all(batch, *heads, until);
  }

  [[nodiscard]] std::vector<publication> progress() const override { return progress_; }

  [[nodiscard]] result<void> await_answers() override {
    refused_.reset();
    return wait_for_confirms(deadline());
  }

 private:
  void take_method(const amqp_method_t& method) override {
    switch (method.id) {
      case AMQP_BASIC_ACK_METHOD: {
        const auto& fields = *static_cast<const amqp_basic_ack_t*>(method.decoded);
        return answer(fields.delivery_tag, fields.multiple != 0, publication::stored);
      }
      case AMQP_BASIC_NACK_METHOD: {
        const auto& fields = *static_cast<const amqp_basic_nack_t*>(method.decoded);
        refuse(errc::store_full, "the broker could not store a message (basic.nack)");
        return answer(fields.delivery_tag, fields.multiple != 0, publication::not_stored);
      }
      case AMQP_BASIC_RETURN_METHOD: {
        // Its confirm follows all the same, and does not say that it is the one of this message.
        returned_ = true;
        const auto& fields = *static_cast<const amqp_basic_return_t*>(method.decoded);
        return refuse(errc::not_found,
                      "no queue takes a message: " + std::string(text_of(fields.reply_text)));
      }
      default:
        return;
    }
  }
  void take_content(received_content /*returned*/) override {}

  void refuse(errc code, const std::string& why) {
    if (!refused_) refused_ = connection_.fault(code, why);
  }

  void answer(std::uint64_t tag, bool and_all_before, publication state) {
    const auto begin = and_all_before ? unconfirmed_.begin() : unconfirmed_.find(tag);
    const auto end = unconfirmed_.upper_bound(tag);
    if (begin == unconfirmed_.end()) return;
    for (auto one = begin; one != end; ++one) {
      if (one->second != of_former_batch) progress_[one->second] = state;
    }
    unconfirmed_.erase(begin, end);
  }

  [[nodiscard]] moment deadline() const { return base::boot_now() + params_.timeout; }

  /// A channel on which the broker confirms what it has stored.
  [[nodiscard]] result<void> begin_channel(moment until) {
    if (auto done = connection_.open_channel(until); !done) return done;
    last_ = 0;  // the broker numbers from here
    unconfirmed_.clear();
    proven_ = false;
    amqp_confirm_select_t fields{};
    return connection_.call(AMQP_CONFIRM_SELECT_METHOD, &fields, AMQP_CONFIRM_SELECT_OK_METHOD,
                            until);
  }

  /// Asks for the exchange, or for the queue where it is the default exchange.
  [[nodiscard]] result<void> find_destination(moment until) {
    if (where_.exchange.empty()) {
      amqp_queue_declare_t fields{};
      fields.queue = bytes_of(where_.key);
      fields.passive = 1;
      return connection_.call(AMQP_QUEUE_DECLARE_METHOD, &fields, AMQP_QUEUE_DECLARE_OK_METHOD,
                              until);
    }
    amqp_exchange_declare_t fields{};
    fields.exchange = bytes_of(where_.exchange);
    fields.type = bytes_of("direct");  // not compared: no exchange is made
    fields.passive = 1;
    return connection_.call(AMQP_EXCHANGE_DECLARE_METHOD, &fields, AMQP_EXCHANGE_DECLARE_OK_METHOD,
                            until);
  }

  /// All that precedes the bodies; before anything is sent, as one message may be no message of
  /// AMQP's.
  [[nodiscard]] result<std::vector<std::string>> encode(std::span<const message> batch) const {
    std::vector<std::string> out;
    out.reserve(batch.size());
    amqp_basic_publish_t fields{};
    fields.exchange = bytes_of(where_.exchange);
    fields.routing_key = bytes_of(where_.key);
    // Else RabbitMQ drops what no queue takes, and confirms it all the same
    // (rabbitmq.com/docs/confirms).
    fields.mandatory = 1;
    for (const auto& sent : batch) {
      auto& head = out.emplace_back();
      if (!append_method(head, the_channel, AMQP_BASIC_PUBLISH_METHOD, &fields)) {
        return connection_.fault(errc::conflict, "AMQP can't carry the request");
      }
      const auto done = append_message_head(head, the_channel, sent, connection_.frame_max());
      if (!done) return connection_.fault(done.error().code, done.error().detail);
    }
    return out;
  }

  [[nodiscard]] result<void> send_all(std::span<const message> batch,
                                      const std::vector<std::string>& heads, moment until) {
    returned_ = false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!connection_.blocked().empty()) return not_now();
      unconfirmed_.emplace(++last_, i);
      progress_[i] = publication::on_its_way;
      connection_.outgoing() += heads[i];
      append_body(connection_.outgoing(), the_channel, batch[i].payload, connection_.frame_max());
      const bool full = connection_.outgoing().size() >= most_outgoing;
      // A broker with an alarm takes one message of a connection and only then says that it takes
      // no more: one that waits there with the rest of its batch would be stored whenever.
      const bool first = !std::exchange(proven_, true);
      if (first && batch.size() > 1) {
        if (auto one = wait_for_confirms(until); !one) return one;
      } else if (full) {
        if (auto sent = flush(until); !sent) return sent;
      }
    }
    return wait_for_confirms(until);
  }

  [[nodiscard]] result<void> flush(moment until) {
    return wait_while([this] { return connection_.pending(); }, until);
  }

  [[nodiscard]] result<void> wait_for_confirms(moment until) {
    const auto busy = [this] { return !unconfirmed_.empty(); };
    if (auto done = wait_while(busy, until); !done) return done;
    if (returned_) progress_.assign(progress_.size(), publication::unknown);
    if (refused_) return failed(*refused_);
    return {};
  }

  /// After an alarm the broker gets its whole time for what waits there.
  template <class Condition>
  [[nodiscard]] result<void> wait_while(Condition condition, moment until) {
    static_cast<void>(connection_.advance());
    while (condition()) {
      const auto end = std::max(until, connection_.unblocked_at() + params_.timeout);
      if (base::boot_now() >= end) {
        return connection_.blocked().empty() ? failed(connection_.give_up()) : not_now();
      }
      if (auto usable = connection_.wait(end); !usable) return failed(usable.error());
    }
    return {};
  }

  /// Amid a batch, without its connection or its channel.
  [[nodiscard]] error failed(error why) {
    why.effect = effect::unknown;
    if (!connection_.state()) {
      // What was confirmed is stored. Of what was refused, nothing follows.
      std::replace(progress_.begin(), progress_.end(), publication::on_its_way,
                   publication::unknown);
      unconfirmed_.clear();
    }
    return why;
  }

  /// The connection stays: what lies at the broker is stored when its alarm is over.
  [[nodiscard]] error not_now() const {
    auto out = connection_.fault(errc::store_full,
                                 "the broker takes no messages now: " + connection_.blocked());
    const bool untouched = std::all_of(progress_.begin(), progress_.end(), [](publication one) {
      return one == publication::not_stored;
    });
    if (!untouched) out.effect = effect::unknown;
    return out;
  }

  const broker_params params_;
  const address where_;
  connection connection_;
  std::uint64_t last_ = 0;  ///< the number of the last message on the channel
  std::map<std::uint64_t, std::size_t> unconfirmed_;  ///< its place in the batch, by number
  std::vector<publication> progress_;                 ///< of the batch
  std::optional<error> refused_;
  bool returned_ = false;  ///< one of the batch has no queue
  bool proven_ = false;    ///< the broker takes messages of this channel
};

}  // namespace

result<std::unique_ptr<messaging::publisher>> open_publisher(const broker_params& params) {
  return open_by<read_address, rabbitmq_publisher>(params);
}

}  // namespace onceguard::messaging::rabbitmq
