#include <algorithm>
#include <limits>
#include <map>

#include "messaging/nats/advisories.hpp"
#include "messaging/nats/api_answer.hpp"
#include "messaging/nats/nats_broker.hpp"
#include "messaging/nats/nats_url.hpp"
#include "messaging/nats/pull.hpp"
#include "messaging/nats/wire_message.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr milliseconds longest_delay{std::chrono::hours(24 * 365)};
/// The server counts them in a 32-bit number on some machines.
constexpr std::size_t largest_batch = 1'000'000;

struct held_delivery {
  std::string reply;  ///< the subject of its settlement
  time_point until;
};

class nats_consumer final : public consumer {
 public:
  nats_consumer(std::unique_ptr<connection> server, consumer_facts facts, std::size_t in_flight)
      : server_(std::move(server)), facts_(std::move(facts)), in_flight_(in_flight) {
    if (facts_.traits.deliveries_max > 0) given_up_.subscribe(*server_, facts_);
  }

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return facts_.traits; }
  [[nodiscard]] result<std::vector<delivery>> receive(std::size_t most, milliseconds wait) override;
  [[nodiscard]] result<void> extend(std::uint64_t tag) override;
  [[nodiscard]] result<void> acknowledge(std::uint64_t tag) override {
    return settle(tag, "+ACK", "acknowledge");
  }
  [[nodiscard]] result<void> give_back(std::uint64_t tag, milliseconds delay) override;
  [[nodiscard]] result<void> dead_letter(std::uint64_t /*tag*/) override {
    return server_->refusal(errc::invalid_argument,
                            "JetStream has no destination for dead letters");
  }
  [[nodiscard]] result<std::optional<std::uint64_t>> backlog() override;
  [[nodiscard]] std::vector<dropped_message> take_dropped() override { return given_up_.take(); }

 private:
  using held_deliveries = std::map<std::uint64_t, held_delivery>;

  /// How many messages to ask for.
  [[nodiscard]] std::size_t batch_of(std::size_t most) const;
  void forget_late();
  /// Adds the delivery, unless its hold is over already: then another consumer may have it.
  [[nodiscard]] result<void> take(pulled next, std::vector<delivery>& out);
  /// False: the message has left the stream.
  [[nodiscard]] result<bool> read_stored_headers(std::uint64_t sequence, message& out);
  [[nodiscard]] result<held_deliveries::iterator> find(std::uint64_t tag);
  /// Sends it, and waits until the server knows of it.
  [[nodiscard]] result<void> send(held_deliveries::iterator found, const std::string& order,
                                  std::string_view action);
  [[nodiscard]] result<void> settle(std::uint64_t tag, const std::string& order,
                                    std::string_view action);

  const std::unique_ptr<connection> server_;
  const consumer_facts facts_;
  const std::size_t in_flight_;
  puller puller_{*server_, facts_};
  advisories given_up_;
  held_deliveries held_;
  std::uint64_t last_tag_ = 0;
};

result<std::vector<delivery>> nats_consumer::receive(std::size_t most, milliseconds wait) {
  const auto until = base::boot_now() + wait;
  std::vector<delivery> out;
  do {
    if (auto why = server_->broken()) return *std::move(why);
    forget_late();
    const auto batch = batch_of(most);
    if (batch == 0) {
      if (auto done = puller_.wait(until); !done) return done.error();
      return out;
    }
    auto got = puller_.pull(batch, until);
    if (!got) return got.error();
    for (auto& one : *got) {
      if (auto done = take(std::move(one), out); !done) return done.error();
    }
  } while (out.empty() && base::boot_now() < until);
  return out;
}

std::size_t nats_consumer::batch_of(std::size_t most) const {
  const auto held = held_.size();
  const auto batch = std::min({most, in_flight_ - std::min(in_flight_, held), largest_batch});
  if (facts_.pending_max == 0) return batch;
  // A request for more than the server can send would only end by its timeout.
  return std::min(batch, facts_.pending_max > held ? facts_.pending_max - held : 1);
}

void nats_consumer::forget_late() {
  const auto now = base::boot_now();
  std::erase_if(held_, [now](const auto& one) { return one.second.until <= now; });
}

result<void> nats_consumer::take(pulled next, std::vector<delivery>& out) {
  const auto until = next.sent + facts_.traits.hold;
  if (until <= base::boot_now()) return {};
  auto* const raw = next.message.get();
  jsMsgMetaData* found = nullptr;
  if (const auto status = natsMsg_GetMetaData(&found, raw); status != NATS_OK) {
    return server_->failure(status, "read a delivery");
  }
  const metadata_handle metadata(found);
  delivery one;
  one.tag = ++last_tag_;
  one.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(metadata->NumDelivered, std::numeric_limits<std::uint32_t>::max()));
  auto& received = one.received;
  received.payload.assign(natsMsg_GetData(raw),
                          static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  if (!read_headers(raw, received)) {
    const auto found_all = read_stored_headers(metadata->Sequence.Stream, received);
    if (!found_all) return found_all.error();
    if (!*found_all) return {};
  }
  received.properties.emplace_back("sequence", std::to_string(metadata->Sequence.Stream));
  received.properties.emplace_back("subject", natsMsg_GetSubject(raw));
  held_.emplace(one.tag, held_delivery{natsMsg_GetReply(raw), until});
  out.push_back(std::move(one));
  return {};
}

result<bool> nats_consumer::read_stored_headers(std::uint64_t sequence, message& out) {
  message_handle reply;
  const auto status =
      server_->request("$JS.API.STREAM.MSG.GET." + facts_.stream,
                       R"({"seq":)" + std::to_string(sequence) + '}', server_->deadline(), reply);
  if (status != NATS_OK) return server_->failure(status, "read the headers of a message");
  const auto bytes = stored_headers_in(
      {natsMsg_GetData(reply.get()), static_cast<std::size_t>(natsMsg_GetDataLength(reply.get()))});
  out.headers.clear();
  out.properties.clear();
  if (bytes) read_header_lines(*bytes, out);
  return bytes.has_value();
}

result<nats_consumer::held_deliveries::iterator> nats_consumer::find(std::uint64_t tag) {
  if (auto why = server_->broken()) return *std::move(why);
  forget_late();
  const auto found = held_.find(tag);
  if (found != held_.end()) return found;
  return server_->refusal(errc::not_found, "the delivery is not held, or not any more");
}

result<void> nats_consumer::send(held_deliveries::iterator found, const std::string& order,
                                 std::string_view action) {
  message_handle reply;
  const auto status = server_->request(found->second.reply, order, server_->deadline(), reply);
  if (status == NATS_OK) return {};
  if (status != NATS_NO_RESPONDERS) return server_->failure(status, action, effect::unknown);
  held_.erase(found);
  return server_->refusal(errc::not_found, "the consumer is gone");
}

result<void> nats_consumer::extend(std::uint64_t tag) {
  const auto found = find(tag);
  if (!found) return found.error();
  const auto begin = base::boot_now();
  if (auto done = send(*found, "+WPI", "extend a delivery"); !done) return done;
  auto& until = (*found)->second.until;
  const bool in_time = base::boot_now() < until;
  until = begin + facts_.traits.hold;
  if (in_time) return {};
  // The server answers also where it has delivered the message again before.
  held_.erase(*found);
  return server_->refusal(errc::not_found, "the delivery was not held any more");
}

result<void> nats_consumer::settle(std::uint64_t tag, const std::string& order,
                                   std::string_view action) {
  const auto found = find(tag);
  if (!found) return found.error();
  if (auto done = send(*found, order, action); !done) return done;
  held_.erase(*found);
  return {};
}

result<void> nats_consumer::give_back(std::uint64_t tag, milliseconds delay) {
  std::string order = "-NAK";
  if (delay > milliseconds(0)) {
    const auto nanoseconds = std::chrono::nanoseconds(std::min(delay, longest_delay)).count();
    order += R"( {"delay":)" + std::to_string(nanoseconds) + '}';
  }
  return settle(tag, order, "give a delivery back");
}

result<std::optional<std::uint64_t>> nats_consumer::backlog() {
  if (auto why = server_->broken()) return *std::move(why);
  const auto counted = count_pending(*server_, facts_.stream, facts_.consumer, server_->deadline());
  if (!counted) return counted.error();
  return std::optional(*counted);
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
