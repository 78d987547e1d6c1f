#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <onceguard/subscription.hpp>

#include "base/clock.hpp"
#include "messaging/subscription/dead_letters.hpp"
#include "messaging/subscription/message_queue.hpp"
#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

using event = subscription_event;
using event_kind = subscription_event_kind;

/// While nothing runs, receive() need not return before a message comes, but for a stop.
constexpr milliseconds idle_wait{200};
constexpr milliseconds backlog_interval{10'000};
/// While batches run, their ends are looked for as often.
constexpr milliseconds busy_wait{20};

std::optional<std::string> message_id_of(const message& received) {
  const auto* const id = property_of(received, "message_id");
  return id == nullptr ? std::nullopt : std::optional(*id);
}

class subscription {
 public:
  subscription(const subscription_params& params, std::stop_token stop,
               const std::function<batch_worker()>& make_worker, milliseconds retention)
      : params_(params),
        stop_(std::move(stop)),
        retention_(retention),
        queue_(params.order),
        dead_letters_(params.dead_letters, params.retry),
        pool_(params.workers, make_worker, params.retry) {
    if (!params_.id_of) params_.id_of = message_id_of;
  }

  result<void> run() {
    bool once_connected = false;
    while (!stop_.stop_requested()) {
      if (consumer_ == nullptr) {
        auto connected = connect();
        if (!connected) {
          const bool lasting = connected.error().code != errc::broker_unreachable;
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
    auto opened = open_consumer(params_.queue);
    if (!opened) return opened.error();
    const auto& traits = (*opened)->traits();
    if (!params_.dead_letters && !params_.drop_dead_letters && !traits.dead_letters) {
      return error(errc::conflict,
                   "subscription: the broker has no destination for dead letters, and none is "
                   "given");
    }
    if (retention_.count() > 0 && retention_ <= traits.redelivery) {
      return error(errc::conflict, "subscription: the retention of the inbox must exceed the " +
                                       std::to_string(traits.redelivery.count() / 1'000) +
                                       " seconds for which the broker may deliver a message again");
    }
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
    std::mutex mutex;
    std::unique_lock locked(mutex);
    std::condition_variable_any never;
    never.wait_for(locked, stop_, pause_, [] { return false; });
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
    dispatch();
    extend();
    if (consumer_ == nullptr) return;
    ask_for_backlog();
    if (consumer_ == nullptr) return;
    const auto room = params_.queue.in_flight - std::min(params_.queue.in_flight, queue_.size());
    if (room > 0) {
      receive(room);
    } else {
      for (auto& job : pool_.take_done(wait_for_next())) settle(std::move(job));
    }
  }

  void ask_for_backlog() {
    if (base::boot_now() < next_backlog_) return;
    next_backlog_ = base::boot_now() + backlog_interval;
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
    auto id = id_of(received.received).value_or(std::string());  // without one, it is found dead
    queue_.add(std::move(received), std::move(id), next_extension());
  }

  [[nodiscard]] std::optional<std::string> id_of(const message& received) const {
    try {
      return params_.id_of(received);
    } catch (const std::exception&) {
      return std::nullopt;  // one bad message must not end the subscription
    }
  }

  void dispatch() {
    while (jobs_ < params_.workers) {
      const auto batch = queue_.next_batch(params_.batch, base::boot_now());
      if (batch.empty()) return;
      batch_job job;
      job.connection = connection_;
      for (const auto* one : batch) {
        job.deliveries.push_back(one->message);
        job.ids.push_back(one->id);
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
      // What runs is settled all the same: its outcome is in the inbox. A refusal does not say that
      // the delivery is gone.
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
    const bool current = is_current(job);
    if (!job.outcomes) {
      report({.kind = event_kind::store_away, .text = job.outcomes.error().detail});
      if (current) give_back(job);
      store_pause_ = std::min(2 * store_pause_, retry_max);
      return;
    }
    store_pause_ = params_.retry;
    if (!current) return;
    for (std::size_t i = 0; i < job.deliveries.size() && consumer_ != nullptr; ++i) {
      reply(job.deliveries[i], job.ids[i], (*job.outcomes)[i]);
    }
  }

  void give_back(const batch_job& job) {
    if (job.deliveries.size() > 1) {
      // One of them may be the cause: each gets an attempt of its own before all are given back.
      for (const auto& one : job.deliveries) {
        queue_.retry(one.tag, base::boot_now() + store_pause_, true);
      }
      return;
    }
    for (const auto& one : job.deliveries) {
      if (consumer_ == nullptr) return;
      postpone_or_disconnect(one.tag, store_pause_);
    }
  }

  void reply(const delivery& message, const std::string& id, const inbox_outcome& outcome) {
    auto kind = event_kind::settled;
    result<void> reply_result;
    switch (reply_to(outcome)) {
      case broker_reply::acknowledge:
        reply_result = consumer_->acknowledge(message.tag);
        break;
      case broker_reply::give_back:
        reply_result = postpone(message.tag, outcome.retry_after);
        break;
      case broker_reply::dead_letter:
        kind = event_kind::dead_lettered;
        reply_result = bury(message, outcome);
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

  /// Brings the message again after the pause, from the broker or from here. An error is one of the
  /// connection: any other one leaves the message here.
  result<void> postpone(std::uint64_t tag, milliseconds pause) {
    const bool stays = queue_.keeps_order(tag);
    if (consumer_->traits().delays && !stays) return return_to(tag, pause);
    queue_.retry(tag, base::boot_now() + pause);
    // Messages that wait here must not keep others from being received.
    const bool crowded = queue_.waiting() > params_.queue.in_flight / 2;
    if (!crowded) return {};
    const auto last = queue_.last_retry();
    return last ? return_to(*last, milliseconds(0)) : result<void>();
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

  result<void> bury(const delivery& message, const inbox_outcome& outcome) {
    if (!dead_letters_.given()) {
      return consumer_->traits().dead_letters ? consumer_->dead_letter(message.tag)
                                              : consumer_->acknowledge(message.tag);
    }
    if (auto published = dead_letters_.publish(message.received, outcome); !published) {
      return published;
    }
    return consumer_->acknowledge(message.tag);
  }

  // --- the end

  void finish() {
    // A worker that pauses after an error of the store would keep the process from its end.
    for (const auto& job : pool_.take_waiting()) {
      --jobs_;
      if (!is_current(job)) continue;
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
      if (const auto done = return_to(tag, milliseconds(0)); !done) disconnect(done.error());
    }
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
  milliseconds store_pause_ = params_.retry;
  worker_pool pool_;  // ends first
};

std::optional<error> complaint(const subscription_params& params) {
  const auto refuse = [](const char* why) { return error(errc::invalid_argument, why); };
  if (params.workers == 0) return refuse("subscription_params: workers is not positive");
  if (params.batch == 0) return refuse("subscription_params: batch is not positive");
  if (params.queue.in_flight == 0) return refuse("subscription_params: in_flight is not positive");
  if (params.retry.count() <= 0) return refuse("subscription_params: retry is not positive");
  return std::nullopt;
}

}  // namespace

inline namespace v1 {

std::vector<inbox_message> messages_of(std::span<const delivered> batch) {
  std::vector<inbox_message> out;
  for (const auto& one : batch) out.push_back({one.id, one.source->received.payload});
  return out;
}

result<void> run_subscription(const subscription_params& params, std::stop_token stop,
                              const std::function<batch_worker()>& make_worker,
                              milliseconds retention) {
  if (auto wrong = complaint(params)) return *wrong;
  auto bounded = params;
  bounded.retry = std::min(params.retry, retry_max);
  return subscription(bounded, std::move(stop), make_worker, retention).run();
}

}  // namespace v1
}  // namespace onceguard::messaging
