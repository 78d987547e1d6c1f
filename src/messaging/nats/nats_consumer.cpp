#include <algorithm>
#include <limits>

#include "messaging/holding_consumer.hpp"
#include "messaging/nats/advisories.hpp"
#include "messaging/nats/api_answer.hpp"
#include "messaging/nats/nats_broker.hpp"
#include "messaging/nats/nats_url.hpp"
#include "messaging/nats/pull.hpp"
#include "messaging/nats/wire_message.hpp"

namespace onceguard::messaging::nats {
namespace {

/// The server counts them in a 32-bit number on some machines.
constexpr std::size_t largest_batch = 1'000'000;

/// Its receipts are the subjects of the settlements.
class nats_consumer final : public holding_consumer<std::string> {
 public:
  nats_consumer(std::unique_ptr<connection> server, consumer_facts facts, std::size_t in_flight)
      : holding_consumer(in_flight), server_(std::move(server)), facts_(std::move(facts)) {
    if (facts_.traits.deliveries_max > 0) given_up_.subscribe(*server_, facts_);
  }

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return facts_.traits; }
  [[nodiscard]] std::vector<dropped_message> take_dropped() override { return given_up_.take(); }

 private:
  void catch_up() override {
    if (auto why = server_->broken()) throw failed{*std::move(why)};
  }
  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, time_point until) override;
  [[nodiscard]] time_point prolong(std::string& reply, time_point end) override;
  void confirm(std::uint64_t /*tag*/, std::string& reply) override {
    send(reply, "+ACK", "acknowledge");
  }
  void put_back(std::uint64_t tag, std::string& reply, milliseconds delay) override;
  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override {
    return value_of(count_pending(*server_, facts_.stream, facts_.consumer, server_->deadline()));
  }
  [[nodiscard]] error refusal(errc code, std::string_view words) const override {
    return server_->refusal(code, words);
  }

  /// How many messages to ask for.
  [[nodiscard]] std::size_t batch_of(std::size_t most);
  /// Adds the delivery, unless its hold is over already: then another consumer may have it.
  void take(pulled next, std::vector<delivery>& out);
  /// False: the message has left the stream.
  [[nodiscard]] bool read_stored_headers(std::uint64_t sequence, message& out);
  /// Sends the order to the server, and waits until it knows of it.
  void send(const std::string& reply, const std::string& order, std::string_view action);

  const std::unique_ptr<connection> server_;
  const consumer_facts facts_;
  puller puller_{*server_, facts_};
  advisories given_up_;
};

std::vector<delivery> nats_consumer::fetch(std::size_t most, time_point until) {
  std::vector<delivery> out;
  do {
    catch_up();
    const auto batch = batch_of(most);
    if (batch == 0) {
      require(puller_.wait(until));
      return out;
    }
    for (auto& one : value_of(puller_.pull(batch, until))) take(std::move(one), out);
  } while (out.empty() && base::boot_now() < until);
  return out;
}

std::size_t nats_consumer::batch_of(std::size_t most) {
  const auto batch = std::min(room_for(most), largest_batch);
  const auto held = all_held().size();
  if (facts_.pending_max == 0) return batch;
  // A request for more than the server can send would only end by its timeout.
  return std::min(batch, facts_.pending_max > held ? facts_.pending_max - held : 1);
}

void nats_consumer::take(pulled next, std::vector<delivery>& out) {
  const auto until = next.sent + facts_.traits.hold;
  if (until <= base::boot_now()) return;
  auto* const raw = next.message.get();
  jsMsgMetaData* found = nullptr;
  if (const auto status = natsMsg_GetMetaData(&found, raw); status != NATS_OK) {
    throw failed{server_->failure(status, "read a delivery")};
  }
  const metadata_handle metadata(found);
  delivery one;
  one.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(metadata->NumDelivered, std::numeric_limits<std::uint32_t>::max()));
  auto& received = one.received;
  received.payload.assign(natsMsg_GetData(raw),
                          static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  if (!read_headers(raw, received) && !read_stored_headers(metadata->Sequence.Stream, received)) {
    return;
  }
  received.properties.emplace_back("sequence", std::to_string(metadata->Sequence.Stream));
  received.properties.emplace_back("subject", natsMsg_GetSubject(raw));
  one.tag = hold(natsMsg_GetReply(raw), until);
  out.push_back(std::move(one));
}

bool nats_consumer::read_stored_headers(std::uint64_t sequence, message& out) {
  message_handle reply;
  const auto status =
      server_->request("$JS.API.STREAM.MSG.GET." + facts_.stream,
                       R"({"seq":)" + std::to_string(sequence) + '}', server_->deadline(), reply);
  if (status != NATS_OK) throw failed{server_->failure(status, "read the headers of a message")};
  const auto bytes = stored_headers_in(
      {natsMsg_GetData(reply.get()), static_cast<std::size_t>(natsMsg_GetDataLength(reply.get()))});
  out.headers.clear();
  out.properties.clear();
  if (bytes) read_header_lines(*bytes, out);
  return bytes.has_value();
}

void nats_consumer::send(const std::string& reply, const std::string& order,
                         std::string_view action) {
  message_handle answer;
  const auto status = server_->request(reply, order, server_->deadline(), answer);
  if (status == NATS_OK) return;
  if (status != NATS_NO_RESPONDERS) {
    throw failed{server_->failure(status, action, effect::unknown)};
  }
  throw failed{refusal(errc::not_found, "the consumer is gone")};
}

time_point nats_consumer::prolong(std::string& reply, time_point end) {
  const auto begin = base::boot_now();
  send(reply, "+WPI", "extend a delivery");
  // The server answers also where it has delivered the message again before.
  if (base::boot_now() >= end) {
    throw failed{refusal(errc::not_found, "the delivery was not held any more")};
  }
  return begin + facts_.traits.hold;
}

void nats_consumer::put_back(std::uint64_t /*tag*/, std::string& reply, milliseconds delay) {
  std::string order = "-NAK";
  if (delay > milliseconds(0)) {
    // The delay of a NAK is in nanoseconds.
    order += R"( {"delay":)" + std::to_string(std::chrono::nanoseconds(delay).count()) + '}';
  }
  send(reply, order, "give a delivery back");
}

struct found_consumer {
  std::unique_ptr<connection> server;
  consumer_facts facts;
};

result<found_consumer> find_consumer(const broker_params& params) {
  const auto url = read_nats_url(params.url, broker_role::consumer);
  if (!url) return url.error();
  const auto until = base::boot_now() + params.timeout;
  auto server = connection::open(*url, params);
  if (!server) return server.error();
  auto facts = read_facts(**server, url->url.segments[0], url->url.segments[1], until);
  if (!facts) return facts.error();
  return found_consumer{std::move(*server), std::move(*facts)};
}

}  // namespace

result<std::unique_ptr<consumer>> open_consumer(const broker_params& params) {
  auto found = find_consumer(params);
  if (!found) return found.error();
  return std::unique_ptr<consumer>(
      new nats_consumer(std::move(found->server), std::move(found->facts), params.in_flight));
}

result<queue_report> examine_queue(const broker_params& params) {
  auto found = find_consumer(params);
  if (!found) return found.error();
  queue_report out;
  out.traits = std::move(found->facts.traits);
  if (found->facts.discards_old) {
    out.weaknesses.emplace_back(
        "the stream has a limit, and beyond it drops its oldest messages (discard old), handled or "
        "not",
        "set its discard policy to new, so that a publisher is refused instead, or its retention "
        "to workqueue with room for what may wait");
  }
  return out;
}

}  // namespace onceguard::messaging::nats
