#include "relay/relay.hpp"

#include <algorithm>
#include <memory>

#include <onceguard/subscription.hpp>

#include "base/log.hpp"
#include "base/number_in.hpp"
#include "base/value_text.hpp"
#include "consume/receiver.hpp"
#include "consume/signature.hpp"
#include "core/kept_key.hpp"
#include "messaging/inbox/inbox_outcome.hpp"
#include "messaging/postgres_queue/queue_table.hpp"
#include "relay/destination.hpp"
#include "relay/outbox_rows.hpp"

// A subscription to the outbox whose worker publishes. What is confirmed is acknowledged, which
// deletes the row. The table keeps the order of each key (order=stop), also for several relays: it
// gives out no row while an earlier one of its key is there and alive. So the subscription itself
// gives everything back that waits: whatever fails takes no place from other keys.

namespace onceguard::relay {
namespace {

namespace queue = messaging::postgres_queue;
using messaging::batch_worker;
using messaging::delivered;
using messaging::subscription_event;

/// The number of the row, which is no property for the destination.
std::int64_t take_row(messaging::message& sent) {
  std::int64_t row = 0;
  std::erase_if(sent.properties, [&](const messaging::attribute& one) {
    if (one.first != queue::row_property) return false;
    row = base::number_in<std::int64_t>(one.second).value_or(0);
    return true;
  });
  return row;
}

/// What a thread works with. One thread at a time.
class sender {
 public:
  sender(const relay_params& params, relay_counters& counters, const queue::queue_url& outbox,
         const std::vector<std::string>& secrets, std::stop_token stop)
      : name_(params.name),
        counters_(counters),
        target_(make_destination(params, secrets)),
        rows_(outbox, params.timeout, params.name) {
    policy_.attempts = params.attempts;
    policy_.backoff = params.backoff;
    policy_.backoff_max = params.backoff_max;
    waiting_.stop = std::move(stop);
    waiting_.on_wait = [this](const std::string& why) {
      counters_.destination_up = false;
      base::log(base::event::relay_waits,
                {{"relay", std::string_view(name_)}, {"why", std::string_view(why)}});
    };
  }

  result<std::vector<inbox_outcome>> send(std::span<const delivered> batch) {
    std::vector<outgoing> all;
    std::vector<std::int64_t> numbers;
    for (const auto& one : batch) {
      all.push_back({one.source->received, one.id, one.source->count});
      numbers.push_back(take_row(all.back().sent));
    }
    const auto answers = target_->send(all, waiting_);
    // Set once: whoever asks meanwhile finds no destination that is up for a moment.
    counters_.destination_up =
        answers.has_value() && std::ranges::none_of(*answers, &messaging::refusal::away);
    if (!answers) return answers.error();
    std::vector<inbox_outcome> out;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& refusal = (*answers)[i];
      if (refusal.empty()) {
        out.push_back(messaging::handled(all[i].attempt));
        continue;
      }
      if (refusal.for_now) {
        auto& later = out.emplace_back();
        later.kind = inbox_result::failed;
        later.attempt = all[i].attempt;
        later.retry_after = policy_.backoff;
        later.reason = refusal.text;
        continue;
      }
      inbox_outcome away;
      if (refusal.away) {
        away = messaging::away_of({refusal.text, all[i].attempt, batch[i].excused, batch[i].blamed},
                                  refusal.blameless, policy_);
        if (away.kind == inbox_result::failed) {
          out.push_back(std::move(away));
          continue;
        }
      }
      // Noted before it is given back: the count must not be lost with this process.
      const auto failures = rows_.note_refusal(numbers[i], refusal.text);
      if (!failures) return failures.error();
      out.push_back(refusal.away ? std::move(away)
                                 : messaging::failure_of(refusal.text, *failures, policy_));
    }
    return out;
  }

 private:
  const std::string name_;
  relay_counters& counters_;
  waiting waiting_;
  const std::unique_ptr<destination> target_;
  outbox_rows rows_;
  inbox_policy policy_;
};

class relaying {
 public:
  relaying(const relay_params& params, relay_counters& counters, queue::queue_url outbox,
           std::vector<std::string> secrets)
      : params_(params),
        counters_(counters),
        outbox_(std::move(outbox)),
        secrets_(std::move(secrets)),
        rows_(outbox_, params.timeout, params.name) {}

  result<void> run(std::stop_token stop) {
    messaging::subscription_params wanted;
    wanted.queue.url = params_.outbox;
    wanted.queue.name = params_.name;
    wanted.batch = params_.endpoint ? 1 : params_.batch;
    wanted.workers = params_.concurrency;
    wanted.queue.in_flight = 2 * wanted.batch * wanted.workers;
    wanted.order = messaging::order_rule::skip;
    wanted.wait_for_queue = true;  // the other relays of the process go on
    wanted.on_event = [this](const subscription_event& happened) { note(happened); };
    const auto worker = [this, stop]() -> batch_worker {
      const auto mine = std::make_shared<sender>(params_, counters_, outbox_, secrets_, stop);
      return [mine](std::span<const delivered> batch) { return mine->send(batch); };
    };
    return messaging::run_subscription(wanted, std::move(stop), worker);
  }

 private:
  /// On the subscription's thread.
  void note(const subscription_event& happened) {
    using enum messaging::subscription_event_kind;
    const std::string_view name = params_.name;
    switch (happened.kind) {
      case received:
      case last_delivery:  // a table has no limit of its own
      case dropped:
        return;
      case dead_lettered:
      case settled:
        return note_outcome(happened);
      case not_settled:
        return note_away(core::kept_key(happened.id) + ": " + std::string(happened.text));
      case connected:
        counters_.outbox_up = true;
        base::log(base::event::outbox_connected, {{"relay", name}});
        return;
      case backlog:
        counters_.waiting = happened.backlog;
        return count_rows();
      case broker_away:
        counters_.outbox_up = false;
        return note_away(std::string(happened.text));
      case store_away:
        ++counters_.given_back;
        base::log(base::event::relay_given_back, {{"relay", name}, {"why", happened.text}});
        return;
      case circuit_open:
        base::log(base::event::relay_circuit_open, {{"relay", name}, {"why", happened.text}});
        return;
      case circuit_closed:
        base::log(base::event::relay_circuit_closed, {{"relay", name}});
        return;
    }
  }

  void note_away(const std::string& why) const {
    base::log(base::event::outbox_away,
              {{"relay", std::string_view(params_.name)}, {"why", std::string_view(why)}});
  }

  void note_outcome(const subscription_event& happened) {
    const auto& outcome = *happened.outcome;
    if (outcome.away) {
      ++counters_.given_back;
      base::log(base::event::relay_given_back, {{"relay", std::string_view(params_.name)},
                                                {"why", std::string_view(outcome.reason)}});
      return;
    }
    auto event = base::event::relayed;
    if (outcome.kind == inbox_result::handled) {
      ++counters_.published;
    } else if (outcome.kind == inbox_result::failed) {
      ++counters_.failed;
      event = base::event::relay_failed;
    } else {
      ++counters_.dead;
      event = base::event::relay_dead;
    }
    base::log(event, {{"relay", std::string_view(params_.name)},
                      {"message", std::string_view(base::shown_id(core::kept_key(happened.id)))},
                      {"attempt", outcome.attempt},
                      {"reason", std::string_view(outcome.reason)}});
  }

  void count_rows() {
    const auto counted = rows_.count();
    if (!counted) return note_away(counted.error().detail);
    counters_.dead_rows = counted->dead;
    counters_.oldest_age = counted->oldest_age.count();
  }

  const relay_params& params_;
  relay_counters& counters_;
  const queue::queue_url outbox_;
  const std::vector<std::string> secrets_;
  outbox_rows rows_;
};

}  // namespace

result<void> run(const relay_params& params, relay_counters& counters, std::stop_token stop) {
  auto outbox = queue::parse_queue_url(params.outbox);
  if (!outbox) return outbox.error();
  std::vector<std::string> secrets;
  if (!params.secret_file.empty()) {
    auto read = consume::read_signing_secrets(params.secret_file);
    if (!read) return read.error();
    secrets = std::move(*read);
  }
  return relaying(params, counters, std::move(*outbox), std::move(secrets)).run(std::move(stop));
}

}  // namespace onceguard::relay
