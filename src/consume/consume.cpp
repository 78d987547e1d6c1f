#include "consume/consume.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <onceguard/fingerprint.hpp>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/value_text.hpp"
#include "consume/message_id.hpp"
#include "consume/signature.hpp"
#include "core/kept_key.hpp"
#include "messaging/delivery_limits.hpp"
#include "messaging/inbox/inbox_outcome.hpp"

// The way of a message: run_subscription receives it (messaging/subscription), and a worker calls
// process(): the id is read, the message is claimed, the receiver runs, and the attempt is settled.
// The outcome returns to the subscription, which acknowledges the message, brings it again after a
// pause, or lays it among the dead letters. So nothing is acknowledged before it is recorded.

namespace onceguard::consume {
namespace {

using messaging::batch_worker;
using messaging::delivered;
using messaging::subscription_event;

result<std::unique_ptr<receiver>> target_of(const consume_params& params) {
  if (!params.endpoint) return make_command_receiver(params);
  std::vector<std::string> secrets;
  if (!params.secret_file.empty()) {
    auto read = read_signing_secrets(params.secret_file);
    if (!read) return read.error();
    secrets = std::move(*read);
  }
  return make_endpoint_receiver(params, std::move(secrets));
}

/// running::key_for("message") of the clear key: a pepper that comes between two attempts must not
/// change what a receiver knows the message by.
std::string key_of(const request& wanted) {
  const auto scope = make_scope_digest(wanted.scope_kind, wanted.scope);
  return base::to_hex(
      base::sha256_of(base::to_hex(make_record_id(scope, wanted.key)) + "/message"));
}

class consumption {
 public:
  consumption(const consume_params& params, consume_counters& counters, message_handler handler)
      : params_(params), counters_(counters), handler_(std::move(handler)) {}

  result<void> run(std::stop_token stop) {
    messaging::subscription_params wanted;
    wanted.queue.url = params_.queue;
    wanted.queue.name = params_.subscriber;
    wanted.queue.make_queue = true;
    wanted.attempts = params_.inbox.attempts;
    wanted.backoffs = messaging::sum_of_backoffs(params_.inbox);
    // As many again: a worker that ends finds the next message here.
    wanted.queue.in_flight = 2 * params_.concurrency;
    wanted.workers = params_.concurrency;
    wanted.batch = 1;
    wanted.order = params_.order;
    wanted.wait_for_queue = true;  // the other subscribers of the process go on
    wanted.drop_dead_letters = params_.drop_dead_letters;
    if (!params_.dead_letter.empty()) {
      wanted.dead_letters.emplace();
      wanted.dead_letters->url = params_.dead_letter;
    }
    wanted.id_of = [this](const messaging::message& received) {
      auto id = id_of(params_.id, received);
      return id ? std::optional(*std::move(id)) : std::nullopt;
    };
    wanted.on_event = [this](const subscription_event& happened) { note(happened); };
    const auto worker = [this]() -> batch_worker {
      return [this](std::span<const delivered> batch) { return process(batch); };
    };
    return messaging::run_subscription(wanted, std::move(stop), worker, params_.inbox.retention);
  }

 private:
  result<std::vector<inbox_outcome>> process(std::span<const delivered> batch) {
    std::vector<inbox_outcome> out;
    for (const auto& one : batch) {
      auto done = handler_.handle(one.source->received, one.id, {one.excused, one.blamed});
      if (!done) return done.error();
      out.push_back(std::move(*done));
    }
    return out;
  }

  void note(const subscription_event& happened) {
    using enum messaging::subscription_event_kind;
    const std::string_view subscriber = params_.subscriber;
    switch (happened.kind) {
      case received:
        ++counters_.received;
        return;
      case last_delivery:
        ++counters_.last_deliveries;
        base::log(base::event::message_last_delivery,
                  {{"subscriber", subscriber},
                   {"message", std::string_view(base::shown_id(core::kept_key(happened.id)))},
                   {"deliveries", happened.message->count}});
        return;
      case dropped:
        ++counters_.dropped;
        base::log(base::event::message_dropped,
                  {{"subscriber", subscriber}, {"message", happened.text}});
        return;
      case dead_lettered:
        ++counters_.dead_lettered;
        [[fallthrough]];
      case settled:
        ++counters_.settled[static_cast<std::size_t>(happened.outcome->kind)];
        return note(happened, *happened.outcome);
      case not_settled:
        ++counters_.not_settled;
        base::log(base::event::message_not_settled,
                  {{"subscriber", subscriber},
                   {"message", std::string_view(base::shown_id(core::kept_key(happened.id)))},
                   {"why", happened.text}});
        return;
      case connected:
        counters_.connected = true;
        base::log(base::event::broker_connected, {{"subscriber", subscriber}});
        return;
      case backlog:
        counters_.backlog = happened.backlog;
        return;
      case broker_away:
        counters_.connected = false;
        base::log(base::event::broker_away, {{"subscriber", subscriber}, {"why", happened.text}});
        return;
      case store_away:
        base::log(base::event::messages_given_back,
                  {{"subscriber", subscriber}, {"why", happened.text}});
        return;
      case circuit_open:
        counters_.circuit_open = true;
        base::log(base::event::consume_circuit_open,
                  {{"subscriber", subscriber}, {"why", happened.text}});
        return;
      case circuit_closed:
        counters_.circuit_open = false;
        base::log(base::event::consume_circuit_closed, {{"subscriber", subscriber}});
        return;
    }
  }

  void note(const subscription_event& happened, const inbox_outcome& outcome) const {
    auto event = base::event::message;
    if (outcome.kind == inbox_result::failed) event = base::event::message_failed;
    if (outcome.kind == inbox_result::unknown) event = base::event::message_unknown;
    if (outcome.kind == inbox_result::dead || outcome.kind == inbox_result::reused) {
      event = base::event::message_dead;
    }
    base::log(event, {{"subscriber", std::string_view(params_.subscriber)},
                      {"message", std::string_view(base::shown_id(core::kept_key(happened.id)))},
                      {"outcome", name_of(outcome.kind)},
                      {"attempt", outcome.attempt},
                      {"reason", std::string_view(outcome.reason)}});
  }

  const consume_params& params_;
  consume_counters& counters_;
  message_handler handler_;
};

}  // namespace

result<message_handler> message_handler::make(const consume_params& params, guard& records) {
  auto target = target_of(params);
  if (!target) return target.error();
  return message_handler(params, records, std::move(*target));
}

message_handler::message_handler(const consume_params& params, guard& records,
                                 std::unique_ptr<receiver> target)
    : params_(params),
      records_(records),
      target_(std::move(target)),
      rules_(messaging::rules_of(params.inbox)) {}

result<inbox_outcome> message_handler::handle(const messaging::message& received,
                                              const std::string& id,
                                              messaging::earlier_attempts earlier) {
  if (id.empty()) {
    const auto none = id_of(params_.id, received);
    inbox_outcome out;
    out.kind = inbox_result::dead;
    out.reason = none ? "its id is empty" : none.error().detail;
    return out;
  }
  const auto work = [&](running& run) {
    const auto key = key_of(messaging::request_of(params_.subscriber, {id, {}}, params_.inbox));
    return target_->take({&received, id, key, run.attempt(), &run});
  };
  const inbox_message message{id, received.payload};
  messaging::guarded_message attempt(records_, params_.subscriber, message, params_.inbox, rules_);
  if (auto known = attempt.claim()) return *std::move(known);
  attempt.run(work);
  return attempt.settle(earlier);
}

result<void> run(const consume_params& params, guard& records, consume_counters& counters,
                 std::stop_token stop) {
  auto handler = message_handler::make(params, records);
  if (!handler) return handler.error();
  return consumption(params, counters, std::move(*handler)).run(std::move(stop));
}

}  // namespace onceguard::consume
