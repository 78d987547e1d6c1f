#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "messaging/broker_adapter.hpp"
#include "messaging/mqtt/mqtt_broker.hpp"
#include "messaging/mqtt/mqtt_connection.hpp"
#include "messaging/mqtt/reason.hpp"
#include "messaging/mqtt/wire_message.hpp"

namespace onceguard::messaging::mqtt {
namespace {

/// How many messages are on their way at a time, where the server allows so many.
constexpr std::size_t widest_window = 256;
/// So many messages are given to the system at once.
constexpr std::size_t written_together = 32;

/// A message whose PUBACK has not come.
struct unanswered_message {
  std::size_t index = 0;  ///< in the batch
  std::string_view key;
};

errc code_of(std::uint8_t reason) {
  switch (reason) {
    case no_matching_subscribers:
      return errc::not_found;
    case quota_exceeded:
      return errc::store_full;
    case topic_name_invalid:
      return errc::invalid_argument;
    case packet_id_in_use:
      return errc::broker_unreachable;
    default:
      return errc::conflict;
  }
}

std::string random_client_id(const std::string& name) {
  std::array<unsigned char, 8> bytes{};
  base::random_bytes(bytes);
  return name + '-' + base::to_hex(bytes);
}

/// Agrees on no keep-alive with the server: a publisher may send nothing for hours, and holds
/// nothing at the server in the meantime.
class mqtt_publisher final : public messaging::publisher, private packet_listener {
 public:
  mqtt_publisher(const address& target, const broker_params& params)
      : timeout_(params.timeout),
        name_(params.name),
        address_(target),
        connection_(address_, timeout_, *this) {}
  ~mqtt_publisher() override { connection_.close(false, deadline()); }

  [[nodiscard]] result<void> open();
  [[nodiscard]] result<void> publish(std::span<const message> batch) override;

 private:
  struct encoded_message {
    std::uint16_t packet_id = 0;
    std::string packet;
  };

  void take_message(const publication& /*arrived*/) override {
    throw malformed{"a message that nobody subscribed to"};
  }
  void take_reply(packet_type type, const reply& arrived) override;

  [[nodiscard]] moment deadline() const { return base::boot_now() + timeout_; }
  /// All of them, before anything is sent: one may be no message of MQTT's.
  [[nodiscard]] result<std::vector<encoded_message>> encode_all(std::span<const message> batch);
  [[nodiscard]] result<encoded_message> encode_one(const message& sent);
  /// Whether the next one has to wait: for room, or for an earlier one of its key.
  [[nodiscard]] bool must_wait(const encoded_message& next, std::string_view key) const;
  template <class Condition>
  [[nodiscard]] result<void> wait_while(Condition condition, moment until);
  [[nodiscard]] result<void> send_all(std::span<const message> batch,
                                      std::vector<encoded_message> packets, moment until);

  const milliseconds timeout_;
  const std::string name_;
  const address address_;
  connection connection_;
  std::size_t window_ = widest_window;
  std::size_t longest_packet_ = longest_body;
  std::uint16_t last_id_ = 0;
  std::map<std::uint16_t, unanswered_message> unanswered_;
  std::unordered_set<std::string_view> keys_;  ///< of those
  std::optional<error> refused_;               ///< the first refusal of a batch
};

result<void> mqtt_publisher::open() {
  const auto until = deadline();
  session_request request;
  request.client_id = address_.client_id.empty() ? random_client_id(name_) : address_.client_id;
  request.clean_start = true;
  request.login = address_.url.login;
  const auto answer = connection_.open(request, until);
  if (!answer) return answer.error();
  const auto& details = answer->details;
  // With more of them unanswered the server would end the connection (MQTT 5, 3.2.2.3.3).
  window_ = std::min<std::size_t>(window_, details.number(property_id::receive_maximum, 0xffff));
  window_ = std::max<std::size_t>(window_, 1);
  longest_packet_ = details.number(property_id::maximum_packet_size, 0xffff'ffff);
  return {};
}

result<void> mqtt_publisher::publish(std::span<const message> batch) {
  const auto until = deadline();
  static_cast<void>(connection_.advance());
  if (auto usable = connection_.state(); !usable) return usable;
  auto packets = encode_all(batch);
  if (!packets) return packets.error();
  refused_.reset();
  auto done = send_all(batch, *std::move(packets), until);
  if (!refused_) {
    return done ? done : error(done.error().code, done.error().detail, effect::unknown);
  }
  // Also where the server closed the connection with it.
  if (batch.size() > 1) refused_->effect = effect::unknown;
  return *refused_;
}

result<std::vector<mqtt_publisher::encoded_message>> mqtt_publisher::encode_all(
    std::span<const message> batch) {
  std::vector<encoded_message> out;
  out.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto next = encode_one(batch[i]);
    if (!next) {
      return connection_.fault(next.error().code,
                               "message " + std::to_string(i) + ": " + next.error().detail);
    }
    out.push_back(*std::move(next));
  }
  return out;
}

result<mqtt_publisher::encoded_message> mqtt_publisher::encode_one(const message& sent) {
  auto details = properties_of(sent);
  if (!details) return details.error();
  publication next;
  next.topic = address_.topic;
  next.payload = sent.payload;
  next.details = *std::move(details);
  // No packet id is 0 (MQTT 5, 2.2.1).
  last_id_ = last_id_ == 0xffff ? 1 : static_cast<std::uint16_t>(last_id_ + 1);
  next.packet_id = last_id_;
  encoded_message out{next.packet_id, encode(next)};
  constexpr std::size_t head = 5;
  if (out.packet.size() > std::min(longest_packet_, longest_body + head)) {
    return error(errc::conflict, "it is larger than the server takes, which is " +
                                     std::to_string(longest_packet_) + " bytes with all");
  }
  return out;
}

bool mqtt_publisher::must_wait(const encoded_message& next, std::string_view key) const {
  // An id that waits for its answer must not be that of another message (MQTT 5, 2.2.1).
  return unanswered_.size() >= window_ || unanswered_.contains(next.packet_id) ||
         keys_.contains(key);
}

template <class Condition>
result<void> mqtt_publisher::wait_while(Condition condition, moment until) {
  static_cast<void>(connection_.advance());
  const auto done = connection_.wait_for([&] { return !condition(); }, until);
  // What has been answered counts, also where the connection broke after it.
  return condition() ? done : result<void>();
}

result<void> mqtt_publisher::send_all(std::span<const message> batch,
                                      std::vector<encoded_message> packets, moment until) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& next = packets[i];
    const std::string_view key = batch[i].order_key;
    // A message is not sent before an earlier one of its key is stored: that one may be refused,
    // and come behind this one when the batch is published again.
    if (must_wait(next, key)) {
      const auto done = wait_while([&] { return must_wait(next, key); }, until);
      if (!done) return done;
    }
    if (refused_) break;
    unanswered_[next.packet_id] = {i, key};
    if (!key.empty()) keys_.insert(key);
    connection_.add(std::exchange(next.packet, {}));
    if ((i + 1) % written_together != 0) continue;
    if (auto sent = connection_.flush(until); !sent) return sent;
  }
  return wait_while([&] { return !unanswered_.empty(); }, until);
}

void mqtt_publisher::take_reply(packet_type type, const reply& arrived) {
  const auto found = unanswered_.find(arrived.packet_id);
  if (type != packet_type::puback || found == unanswered_.end()) {
    throw malformed{"an answer to nothing"};
  }
  if ((arrived.reason >= first_failure || arrived.reason == no_matching_subscribers) && !refused_) {
    const auto code = code_of(arrived.reason);
    refused_ = connection_.fault(
        code,
        (code == errc::not_found ? "no session takes message " : "the server refuses message ") +
            std::to_string(found->second.index) + ": " + words_of(arrived.reason, arrived.details));
  }
  keys_.erase(found->second.key);
  unanswered_.erase(found);
}

}  // namespace

result<std::unique_ptr<messaging::publisher>> open_publisher(const broker_params& params) {
  return open_by<read_address, mqtt_publisher>(params);
}

}  // namespace onceguard::messaging::mqtt
