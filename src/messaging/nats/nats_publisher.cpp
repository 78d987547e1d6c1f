#include <set>
#include <vector>

#include "base/number_in.hpp"
#include "messaging/broker_adapter.hpp"
#include "messaging/nats/api_answer.hpp"
#include "messaging/nats/nats_broker.hpp"
#include "messaging/nats/nats_connection.hpp"
#include "messaging/nats/nats_url.hpp"
#include "messaging/nats/wire_message.hpp"

namespace onceguard::messaging::nats {
namespace {

/// How many messages are on their way at a time.
constexpr std::size_t window = 256;

class nats_publisher final : public publisher {
 public:
  nats_publisher(const nats_url& url, const broker_params& params)
      : server_(value_of(connection::open(url, params))), subject_(url.url.segments[0]) {
    const auto status = answers_.subscribe(*server_, ".*");
    if (status != NATS_OK) throw failed{server_->failure(status, "wait for answers")};
  }

  [[nodiscard]] result<void> publish(std::span<const message> batch) override;
  [[nodiscard]] std::vector<publication> progress() const override { return progress_; }

 private:
  /// Of one call of publish.
  struct round {
    time_point until;
    std::set<std::uint64_t> unanswered;
    std::set<std::string_view> keys;  ///< of the messages on their way
    std::optional<error> refused;     ///< the first refusal
  };

  [[nodiscard]] result<void> check(std::span<const message> batch) const;
  [[nodiscard]] result<void> send(const message& next, round& running);
  /// Waits for all answers that are to come.
  [[nodiscard]] result<void> settle(round& running);
  void read_answer(const natsMsg* answer, round& running);

  const std::unique_ptr<connection> server_;
  const std::string subject_;
  inbox answers_;
  std::uint64_t last_ = 0;
  std::uint64_t before_ = 0;           ///< the number of the last message of the batch before
  std::vector<publication> progress_;  ///< of the batch
};

result<void> nats_publisher::publish(std::span<const message> batch) {
  if (auto why = server_->broken()) return *std::move(why);
  if (auto checked = check(batch); !checked) return checked;
  before_ = last_;
  progress_.assign(batch.size(), publication::not_stored);
  round running{server_->deadline(), {}, {}, {}};
  for (const auto& next : batch) {
    // A message is not sent before an earlier one of its key is stored: that one may be refused,
    // and come behind this one when the batch is published again.
    if (running.unanswered.size() == window || running.keys.contains(next.order_key)) {
      if (auto settled = settle(running); !settled) return settled;
      if (running.refused) break;
    }
    if (auto sent = send(next, running); !sent) return sent;
  }
  if (auto settled = settle(running); !settled) return settled;
  if (!running.refused) return {};
  if (batch.size() > 1) running.refused->effect = effect::unknown;
  return *std::move(running.refused);
}

result<void> nats_publisher::check(std::span<const message> batch) const {
  const auto bytes_max = natsConnection_GetMaxPayload(server_->raw());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto fault = fault_of(batch[i], bytes_max);
    if (fault.why.empty()) continue;
    return server_->refusal(fault.code, "message " + std::to_string(i) + ": " + fault.why);
  }
  return {};
}

result<void> nats_publisher::send(const message& next, round& running) {
  const auto number = ++last_;
  const auto made = to_wire(next, subject_, answers_.subject() + '.' + std::to_string(number));
  if (!made) return server_->failure(NATS_NO_MEMORY, "publish", effect::unknown);
  progress_[number - before_ - 1] = publication::unknown;  // until its answer comes
  const auto status = natsConnection_PublishMsg(server_->raw(), made.get());
  if (status != NATS_OK) return server_->failure(status, "publish", effect::unknown);
  running.unanswered.insert(number);
  if (!next.order_key.empty()) running.keys.insert(next.order_key);
  return {};
}

result<void> nats_publisher::settle(round& running) {
  while (!running.unanswered.empty()) {
    message_handle answer;
    const auto status = answers_.next(running.until, answer);
    if (status == NATS_NO_RESPONDERS) {
      // libnats does not tell to which message; each message gets this answer then.
      running.unanswered.erase(running.unanswered.begin());
      if (!running.refused) {
        running.refused = server_->refusal(errc::not_found, "no stream takes the subject");
      }
      continue;
    }
    if (status != NATS_OK) return server_->failure(status, "publish", effect::unknown);
    read_answer(answer.get(), running);
  }
  running.keys.clear();
  return {};
}

void nats_publisher::read_answer(const natsMsg* answer, round& running) {
  const std::string_view target = natsMsg_GetSubject(answer);
  const auto digits = target.substr(target.rfind('.') + 1);
  const auto number = base::number_in<std::uint64_t>(digits).value_or(0);
  if (running.unanswered.erase(number) == 0) return;
  const auto why = refusal_in(
      {natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))});
  progress_[number - before_ - 1] = why ? publication::not_stored : publication::stored;
  if (why && !running.refused) {
    running.refused = server_->refusal(why->full ? errc::store_full : errc::conflict,
                                       "a message was refused: " + why->why);
  }
}

}  // namespace

result<std::unique_ptr<publisher>> open_publisher(const broker_params& params) {
  return open_by<read_nats_url, nats_publisher>(params);
}

}  // namespace onceguard::messaging::nats
