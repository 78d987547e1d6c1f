#include <algorithm>
#include <utility>

#include <onceguard/subscription.hpp>

#include "base/clock.hpp"
#include "base/stoppable_wait.hpp"
#include "messaging/subscription/circuit_breaker.hpp"
#include "messaging/subscription/dead_letters.hpp"
#include "messaging/subscription/message_queue.hpp"
#include "messaging/subscription/subscription_rules.hpp"
#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

using event = subscription_event;
using event_kind = subscription_event_kind;

/// While nothing runs, receive() need not return before a message comes, but for a stop.
constexpr milliseconds idle_wait{200};
constexpr milliseconds backlog_interval{10'000};
constexpr milliseconds busy_wait{20};  ///< while batches run, whose ends are looked for

class subscription {
 public:
  subscription(const subscription_params& params, std::stop_token stop,
               const std::function<batch_worker()>& make_worker, milliseconds retention)
      : params_(params),
        stop_(std::move(stop)),
        retention_(retention),
        queue_(params.order),
        dead_letters_(params.dead_letters, params.queue.name, params.retry),
        circuit_(params.retry),
        pool_(params.workers, make_worker) {}

  result<void> run() {
    bool once_connected = false;
    while (!stop_.stop_requested()) {
      if (consumer_ == nullptr) {
        auto connected = connect();
        if (!connected) {
          const auto code = connected.error().code;
          const bool waits = params_.wait_for_queue && code == errc::not_found;
          const bool lasting = code != errc::broker_unreachable && !waits;
          if (lasting && !once_connected) return connected.error();
          disconnect(connected.error());
          continue;
        }
        once_connected = true;
      }
      turn();
    }
    finish();
    return {};
  }

 private:
  // --- the connection

  result<void> connect() {
    auto opened = open_consumer(consumer_params(params_));
    if (!opened) return opened.error();
    if (auto wrong = broker_fault((*opened)->traits(), params_, retention_)) return *wrong;
    consumer_ = std::move(*opened);
    ++connection_;
    report({.kind = event_kind::connected});
    next_backlog_ = base::boot_now();
    return {};
  }

  /// Everything that was received comes again from the broker.
  void disconnect(const error& why) {
    consumer_.reset();
    queue_.clear();
    report({.kind = event_kind::broker_away, .text = why.detail});
    base::wait_unless(stop_, pause_);
    pause_ = std::min(2 * pause_, retry_max);
  }

  /// Notes an error of the consumer. False: the connection is gone.
  bool still_connected(const error& why) {
    if (why.code != errc::broker_unreachable) return true;
    disconnect(why);
    return false;
  }

  // --- one turn

  void turn() {
    for (auto& job : pool_.take_done(milliseconds(0))) settle(std::move(job));
    if (consumer_ == nullptr) return;
    // A message that got "away" before can't tell an outage from its own fault.
    if (may_probe() && !queue_.has_untried(base::boot_now()) && room() > 0) receive(1);
    if (consumer_ == nullptr) return;
    dispatch();
    extend();
    if (consumer_ == nullptr) return;
    ask_for_backlog();
    if (consumer_ == nullptr) return;
    if (const auto most = room(); most > 0) {
      receive(most);
    } else {
      for (auto& job : pool_.take_done(wait_for_next())) settle(std::move(job));
    }
  }

  /// How many messages may be received now.
  [[nodiscard]] std::size_t room() const {
    const auto in_flight = params_.queue.in_flight;
    const auto waiting = queue_.waiting();
    const auto active = queue_.size() - waiting;
    auto most = in_flight - std::min(in_flight, active);
    const auto overdue = waiting - std::min(waiting, params_.waiting);
    most -= std::min(most, overdue);
    if (circuit_.is_closed()) return most;
    // Nothing more comes in, unless no message is there to be tried.
    return may_probe() ? std::min<std::size_t>(most, 1) : 0;
  }

  [[nodiscard]] bool may_probe() const {
    return !circuit_.is_closed() && circuit_.may_probe(base::boot_now());
  }

  void ask_for_backlog() {
    if (base::boot_now() < next_backlog_) return;
    next_backlog_ = base::boot_now() + backlog_interval;
    for (const auto& lost : consumer_->take_dropped()) {
      report({.kind = event_kind::dropped, .text = lost.name});
    }
    const auto waiting = consumer_->backlog();
    if (!waiting) {
      static_cast<void>(still_connected(waiting.error()));
    } else if (*waiting) {
      report({.kind = event_kind::backlog, .backlog = **waiting});
    }
  }

  [[nodiscard]] milliseconds wait_for_next() const {
    auto out = jobs_ > 0 ? busy_wait : idle_wait;
    const bool idle = jobs_ < params_.workers;  // or nothing can begin before a batch ends
    if (const auto due = idle ? queue_.first_retry() : std::nullopt) {
      const auto rest = std::chrono::ceil<milliseconds>(*due - base::boot_now());
      out = std::clamp(rest, milliseconds(1), out);
    }
    if (!circuit_.is_closed()) out = std::min(out, busy_wait);
    return out;
  }

  void receive(std::size_t room) {
    auto got = consumer_->receive(room, wait_for_next());
    // A consumer that can't receive is of no use, whatever the reason.
    if (!got) return disconnect(got.error());
    pause_ = params_.retry;
    for (auto& one : *got) take(std::move(one));
  }

  void take(delivery received) {
    report({.kind = event_kind::received, .message = &received});
    auto id = message_id_of(params_, received.received);  // without one, it is found dead
    if (is_last_delivery(received, consumer_->traits())) {
      report({.kind = event_kind::last_delivery, .message = &received, .id = id});
    }
    queue_.add(std::move(received), std::move(id), next_extension());
  }

  void dispatch() {
    while (jobs_ < params_.workers) {
      const auto now = base::boot_now();
      const bool probe = !circuit_.is_closed();
      if (probe && !circuit_.may_probe(now)) return;
      const auto batch = probe ? queue_.next_probe(now) : queue_.next_batch(params_.batch, now);
      if (batch.empty()) return;
      if (probe) circuit_.begin_probe();
      batch_job job;
      job.connection = connection_;
      job.probe = probe;
      for (const auto* one : batch) {
        job.deliveries.push_back(one->message);
        job.views.push_back({nullptr, one->id, one->excused, one->blamed});
      }
      ++jobs_;
      pool_.give(std::move(job));
    }
  }

  [[nodiscard]] message_queue::time_point next_extension() const {
    const auto hold = consumer_->traits().hold;
    return hold.count() > 0 ? base::boot_now() + hold / 3 : message_queue::time_point::max();
  }

  void extend() {
    for (const auto tag : queue_.to_extend(base::boot_now(), next_extension())) {
      const auto done = consumer_->extend(tag);
      if (done) continue;
      if (!still_connected(done.error())) return;
      // What runs is settled all the same, and a refusal does not say that the delivery is gone.
      if (done.error().code == errc::not_found && !queue_.runs(tag)) queue_.remove(tag);
    }
  }

  // --- what became of a batch

  /// Its deliveries are of the present connection: another one may use their tags again.
  [[nodiscard]] bool is_current(const batch_job& job) const {
    return consumer_ != nullptr && job.connection == connection_;
  }

  void settle(batch_job job) {
    --jobs_;
    note_signs(job);
    if (!is_current(job)) return forget(job);
    if (!job.outcomes) {
      // One of several may be the cause: each gets an attempt of its own.
      const bool alone = job.deliveries.size() > 1;
      for (const auto& one : job.deliveries) {
        queue_.retry_after_error(one.tag, base::boot_now(), params_.retry, alone);
      }
      return;
    }
    for (std::size_t i = 0; i < job.deliveries.size() && consumer_ != nullptr; ++i) {
      reply(job.deliveries[i], job.views[i].id, (*job.outcomes)[i]);
      if (consumer_ != nullptr) extend();  // each reply may take as long as the broker likes
    }
    if (consumer_ == nullptr) forget(job);
  }

  /// The connection is gone. The deliveries come again, and may run as soon as this batch does not.
  void forget(const batch_job& job) {
    for (std::size_t i = 0; i < job.deliveries.size(); ++i) {
      queue_.end(job.deliveries[i].received.order_key, job.views[i].id);
    }
  }

  void note_signs(const batch_job& job) {
    if (!job.outcomes) {
      const auto& why = job.outcomes.error();
      report({.kind = event_kind::store_away, .text = why.detail});
      // Of a bad message its own pause is enough; the store has answered.
      note_sign(sign_of(why), job, why.detail);
      return;
    }
    for (const auto& outcome : *job.outcomes) {
      if (outcome.kind == inbox_result::handled) queue_.note_success();
      note_sign(sign_of(outcome), job, outcome.reason);
    }
  }

  void note_sign(work_sign sign, const batch_job& job, std::string_view why) {
    if (!circuit_.note(sign, job.probe, base::boot_now())) return;
    const auto kind = circuit_.is_closed() ? event_kind::circuit_closed : event_kind::circuit_open;
    report({.kind = kind, .text = why});
  }

  void reply(const delivery& message, const std::string& id, const inbox_outcome& outcome) {
    auto kind = event_kind::settled;
    result<void> reply_result;
    switch (reply_to(outcome)) {
      case broker_reply::acknowledge:
        reply_result = consumer_->acknowledge(message.tag);
        break;
      case broker_reply::give_back:
        if (outcome.away) {  // it waits here, and for the circuit breaker
          queue_.excuse(message.tag, base::boot_now() + outcome.retry_after, outcome.blameless);
        } else {
          reply_result = postpone(message.tag, outcome.retry_after);
        }
        break;
      case broker_reply::dead_letter:
        kind = event_kind::dead_lettered;
        reply_result = bury(message, id, outcome);
        break;
    }
    event happened{.kind = kind, .message = &message, .outcome = &outcome, .id = id};
    const auto why = reply_result ? std::string() : reply_result.error().detail;  // a copy's text
    if (!reply_result) happened.kind = event_kind::not_settled;
    happened.text = why;
    report(happened);
    if (!reply_result && !still_connected(reply_result.error())) return;
    if (!reply_result && reply_result.error().code != errc::not_found) {
      // The broker refused: the record knows the outcome, and a later delivery tries again.
      postpone_or_disconnect(message.tag, retry_max);
      return;
    }
    if (reply_result && reply_to(outcome) == broker_reply::give_back) return;
    queue_.remove(message.tag);
  }

  /// Brings the message again after the pause, from here, or from the broker where nothing counts
  /// that. An error is one of the connection: any other one leaves the message here.
  result<void> postpone(std::uint64_t tag, milliseconds pause) {
    const auto& traits = consumer_->traits();
    const bool parks = traits.delays && !traits.counts_returns;
    if (parks && !queue_.keeps_order(tag)) return return_to(tag, pause);
    queue_.retry(tag, base::boot_now() + pause);
    return {};
  }

  void postpone_or_disconnect(std::uint64_t tag, milliseconds pause) {
    if (const auto done = postpone(tag, pause); !done) disconnect(done.error());
  }

  /// Errors as for postpone.
  result<void> return_to(std::uint64_t tag, milliseconds pause) {
    auto given = consumer_->give_back(tag, pause);
    if (!given && given.error().code == errc::broker_unreachable) return given;
    if (given || given.error().code == errc::not_found) {
      queue_.remove(tag);
    } else {
      queue_.retry(tag, base::boot_now() + std::max(pause, params_.retry));  // the broker refuses
    }
    return {};
  }

  result<void> bury(const delivery& message, const std::string& id, const inbox_outcome& outcome) {
    if (!dead_letters_.given()) {
      return consumer_->traits().dead_letters ? consumer_->dead_letter(message.tag)
                                              : consumer_->acknowledge(message.tag);
    }
    // Published first: a crash between the two may repeat the dead letter, but loses no message.
    if (auto published = dead_letters_.publish(message.received, id, outcome); !published) {
      return published;
    }
    return consumer_->acknowledge(message.tag);
  }

  // --- the end

  void finish() {
    const auto stopped = consumer_ == nullptr ? result<void>() : consumer_->stop_intake();
    if (!stopped) static_cast<void>(still_connected(stopped.error()));
    // A worker that pauses after an error of the store would keep the process from its end.
    for (const auto& job : pool_.take_waiting()) {
      --jobs_;
      if (!is_current(job)) {
        forget(job);
        continue;
      }
      for (const auto& one : job.deliveries) queue_.retry(one.tag, base::boot_now());
    }
    give_back_idle();
    while (jobs_ > 0) {
      for (auto& job : pool_.take_done(idle_wait)) settle(std::move(job));
      if (consumer_ != nullptr) extend();
    }
    // Those that failed just now, too.
    give_back_idle();
  }

  /// Until the connection breaks: then the broker knows by itself.
  void give_back_idle() {
    for (const auto tag : queue_.idle()) {
      if (consumer_ == nullptr) return;
      if (bury_last(queue_.at(tag))) continue;
      if (const auto done = return_to(tag, milliseconds(0)); !done) disconnect(done.error());
    }
  }

  /// The broker would drop it without a word. False: it is to be given back.
  bool bury_last(const message_queue::held& one) {
    const auto& traits = consumer_->traits();
    if (!is_last_delivery(one.message, traits)) return false;
    if (!dead_letters_.given() && !traits.dead_letters) return false;
    const auto message = one.message;  // reply() forgets the one that is held
    reply(message, std::string(one.id), out_of_deliveries(traits));
    return true;
  }

  void report(const event& happened) const {
    if (params_.on_event) params_.on_event(happened);
  }

  subscription_params params_;
  const std::stop_token stop_;
  const milliseconds retention_;
  message_queue queue_;
  std::unique_ptr<consumer> consumer_;
  dead_letters dead_letters_;
  std::uint64_t connection_ = 0;
  std::size_t jobs_ = 0;  // given to the pool and not taken back
  base::boot_clock::time_point next_backlog_{};
  milliseconds pause_ = params_.retry;
  circuit_breaker circuit_;
  worker_pool pool_;  // ends first
};

}  // namespace

inline namespace v1 {
result<void> run_subscription(const subscription_params& params, std::stop_token stop,
                              const std::function<batch_worker()>& make_worker,
                              milliseconds retention) {
  if (auto wrong = subscription_fault(params)) return *wrong;
  auto bounded = params;
  bounded.retry = std::min(params.retry, retry_max);
  return subscription(bounded, std::move(stop), make_worker, retention).run();
}

}  // namespace v1
}  // namespace onceguard::messaging
