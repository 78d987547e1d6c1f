#include "messaging/nats/pull.hpp"

#include <algorithm>

namespace onceguard::messaging::nats {
namespace {

constexpr milliseconds shortest_request{5};
/// For the next message of a request that has delivered some: it ends by itself where the consumer
/// has no more, but not where others hold as many as its max_ack_pending allows.
constexpr milliseconds patience{20};

bool is_delivery(const natsMsg* got) {
  const char* const reply = natsMsg_GetReply(got);
  return reply != nullptr && *reply != '\0';
}

std::string header(natsMsg* got, const char* name) {
  const char* value = nullptr;
  const auto status = natsMsgHeader_Get(got, name, &value);
  return status == NATS_OK && value != nullptr ? value : "";
}

}  // namespace

puller::puller(connection& server, const consumer_facts& facts) : server_(server), facts_(facts) {}

result<std::vector<pulled>> puller::pull(std::size_t batch, time_point until) {
  request next;
  while (true) {
    next.begin = base::boot_now();
    const auto left = std::chrono::duration_cast<milliseconds>(until - next.begin);
    next.expires = std::max(left, shortest_request);
    if (facts_.expires_max > milliseconds(0)) {
      next.expires = std::min(next.expires, facts_.expires_max);
    }
    next.batch = next.one_shot ? batch : 1;
    if (facts_.batch_max > 0) next.batch = std::min(next.batch, facts_.batch_max);
    if (const auto status = send(next); status != NATS_OK) {
      return server_.failure(status, "ask for messages");
    }
    if (auto done = collect(next); !done) {
      if (next.got.empty() || done.error().code == errc::broker_unreachable) return done.error();
    }
    if (!next.got.empty() || base::boot_now() >= until) return std::move(next.got);
    // The server ends a one-shot at once where other consumers wait for the messages. A request
    // that waits like theirs comes to its turn.
    if (base::boot_now() - next.begin < next.expires) next.one_shot = false;
  }
}

result<void> puller::wait(time_point until) {
  while (base::boot_now() < until) {
    if (auto why = server_.broken()) return *std::move(why);
    message_handle ignored;
    if (!inbox_) {
      inbox_.emplace();
      const auto status = inbox_->subscribe(server_);
      if (status != NATS_OK) return server_.failure(status, "wait for messages");
    }
    const auto status = inbox_->next(std::min(until, slice_end()), ignored);
    if (status == NATS_OK || status == NATS_TIMEOUT) continue;
    return server_.failure(status, "wait for messages");
  }
  return {};
}

natsStatus puller::send(const request& next) {
  if (!inbox_) {
    inbox_.emplace();
    const auto status = inbox_->subscribe(server_);
    if (status != NATS_OK) return status;
  }
  const auto subject = "$JS.API.CONSUMER.MSG.NEXT." + facts_.stream + '.' + facts_.consumer;
  const auto nanoseconds = std::chrono::nanoseconds(next.expires).count();
  const auto body = R"({"batch":)" + std::to_string(next.batch) + R"(,"expires":)" +
                    std::to_string(nanoseconds) + (next.one_shot ? R"(,"no_wait":true})" : "}");
  return natsConnection_PublishRequest(server_.raw(), subject.c_str(), inbox_->subject().c_str(),
                                       body.data(), static_cast<int>(body.size()));
}

result<void> puller::collect(request& running) {
  // The server answers each request in the end, if only that there is no message.
  const auto answered = running.begin + running.expires + server_.timeout() / 2;
  auto sent = running.begin;
  while (running.got.size() < running.batch) {
    const auto begin = base::boot_now();
    const auto until = running.got.empty() ? std::min(slice_end(), answered) : begin + patience;
    message_handle got;
    const auto status = inbox_->next(until, got);
    if (status == NATS_TIMEOUT) {
      if (!running.got.empty()) return abandon(running);
      if (base::boot_now() >= answered) return unanswered();
      sent = begin;  // nothing had been sent until then, as far as was read
      continue;
    }
    if (status == NATS_NO_RESPONDERS) return unanswered();
    if (status != NATS_OK) return server_.failure(status, "ask for messages");
    if (is_delivery(got.get())) {
      running.got.push_back({std::move(got), sent});
      continue;
    }
    const auto ended = read_status(got.get());
    if (!ended) return ended.error();
    if (*ended) return {};
  }
  return {};
}

result<void> puller::abandon(request& running) {
  const auto until = server_.deadline();
  const auto sent = running.got.back().sent;
  auto status = inbox_->end();
  while (status == NATS_OK) {
    message_handle got;
    status = inbox_->next(until, got);
    if (status == NATS_OK && is_delivery(got.get())) running.got.push_back({std::move(got), sent});
  }
  inbox_.reset();
  return {};
}

result<bool> puller::read_status(natsMsg* got) {
  const auto status = header(got, "Status");
  if (status == "100") return false;  // a heartbeat
  if (status == "404" || status == "408") return true;
  const auto words = header(got, "Description");
  if (words.find("Consumer Deleted") != words.npos) {
    return server_.refusal(errc::not_found, "the consumer was deleted");
  }
  for (const auto* const passing : {"Leadership Change", "Server Shutdown"}) {
    if (words.find(passing) == words.npos) continue;
    auto out = server_.refusal(errc::broker_unreachable, words);
    server_.give_up(out);
    return out;
  }
  return server_.refusal(errc::conflict,
                         "the request for messages was refused: " + status + ' ' + words);
}

error puller::unanswered() {
  const auto until = base::boot_now() + server_.timeout() / 2;
  const auto counted = count_pending(server_, facts_.stream, facts_.consumer, until);
  if (!counted) return counted.error();
  auto out = server_.refusal(errc::broker_unreachable, "the consumer does not answer");
  server_.give_up(out);
  return out;
}

time_point puller::slice_end() const {
  // As long as `sent` may be wrong by twice.
  const auto slice = std::clamp(facts_.traits.hold / 20, milliseconds(5), milliseconds(500));
  return base::boot_now() + slice;
}

}  // namespace onceguard::messaging::nats
