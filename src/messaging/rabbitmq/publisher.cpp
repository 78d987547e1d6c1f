#include "messaging/rabbitmq/publisher.hpp"

#include <optional>
#include <set>
#include <utility>

#include "messaging/rabbitmq/connection.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

/// What may wait in memory to be sent.
constexpr std::size_t most_outgoing = 1'048'576;

/// Agrees on no heartbeats with the broker: a publisher may send nothing for hours, and holds
/// nothing at the broker in the meantime.
class queue_publisher final : public messaging::publisher, private channel_listener {
 public:
  queue_publisher(const broker_params& params, address where)
      : params_(params), where_(std::move(where)), connection_(where_, *this) {}
  ~queue_publisher() override { connection_.close(deadline()); }

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
    refused_.reset();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      unconfirmed_.insert(++last_);
      connection_.outgoing() += (*heads)[i];
      append_body(connection_.outgoing(), the_channel, batch[i].payload, connection_.frame_max());
      if (connection_.outgoing().size() < most_outgoing) continue;
      if (auto sent = connection_.flush(until); !sent) return failed(sent.error());
    }
    return wait_for_confirms(until);
  }

 private:
  void take_method(const amqp_method_t& method) override {
    switch (method.id) {
      case AMQP_BASIC_ACK_METHOD: {
        const auto& fields = *static_cast<const amqp_basic_ack_t*>(method.decoded);
        return confirm(fields.delivery_tag, fields.multiple != 0);
      }
      case AMQP_BASIC_NACK_METHOD: {
        const auto& fields = *static_cast<const amqp_basic_nack_t*>(method.decoded);
        refuse(errc::store_full, "the broker could not store a message (basic.nack)");
        return confirm(fields.delivery_tag, fields.multiple != 0);
      }
      case AMQP_BASIC_RETURN_METHOD: {
        // Its confirm follows all the same.
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

  void confirm(std::uint64_t tag, bool and_all_before) {
    if (and_all_before) {
      unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(tag));
    } else {
      unconfirmed_.erase(tag);
    }
  }

  [[nodiscard]] moment deadline() const { return base::boot_now() + params_.timeout; }

  /// A channel on which the broker confirms what it has stored.
  [[nodiscard]] result<void> begin_channel(moment until) {
    if (auto done = connection_.open_channel(until); !done) return done;
    last_ = 0;  // the broker numbers from here
    unconfirmed_.clear();
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

  [[nodiscard]] result<void> wait_for_confirms(moment until) {
    if (auto sent = connection_.flush(until); !sent) return failed(sent.error());
    while (!unconfirmed_.empty()) {
      if (base::boot_now() >= until) return failed(connection_.give_up());
      if (auto usable = connection_.wait(until); !usable) return failed(usable.error());
    }
    if (refused_) return failed(*refused_);
    return {};
  }

  /// Amid a batch.
  [[nodiscard]] static error failed(error why) {
    why.effect = effect::unknown;
    return why;
  }

  const broker_params params_;
  const address where_;
  connection connection_;
  std::uint64_t last_ = 0;  ///< the number of the last message on the channel
  std::set<std::uint64_t> unconfirmed_;
  std::optional<error> refused_;
};

}  // namespace

result<std::unique_ptr<messaging::publisher>> open_publisher(const broker_params& params) {
  auto where = read_address(params.url, broker_role::publisher);
  if (!where) return where.error();
  auto out = std::make_unique<queue_publisher>(params, std::move(*where));
  if (auto opened = out->open(); !opened) return opened.error();
  return out;
}

}  // namespace onceguard::messaging::rabbitmq
