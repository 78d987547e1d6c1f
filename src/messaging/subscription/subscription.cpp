#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <onceguard/subscription.hpp>

#include "base/clock.hpp"
#include "messaging/subscription/message_queue.hpp"
#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

using event = subscription_event;
using event_kind = subscription_event_kind;

/// While nothing runs, receive() need not return before a message comes, but for a stop.
constexpr milliseconds idle_wait{200};
/// While batches run, their ends are looked for as often.
constexpr milliseconds busy_wait{20};

std::optional<std::string> message_id_of(const message& received) {
  const auto* const id = property_of(received, "message_id");
  return id == nullptr ? std::nullopt : std::optional(*id);
}

/// The dead letter of a message.
message dead_letter_of(const message& received, const inbox_outcome& outcome) {
  auto out = received;
  std::erase_if(out.headers, [](const auto& header) { return header.first == reason_header; });
  out.headers.emplace_back(reason_header, outcome.reason);
  return out;
}

class subscription {
 public:
  subscription(const subscription_params& params, std::stop_token stop,
               const std::function<batch_worker()>& make_worker, milliseconds retention)
      : params_(params),
        stop_(std::move(stop)),
        retention_(retention),
        queue_(params.order),
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
    pause_ = params_.retry;
    event happened{.kind = event_kind::connected};
    if (const auto waiting = consumer_->backlog(); waiting && *waiting)
      happened.backlog = **waiting;
    report(happened);
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
    const auto room = params_.queue.in_flight - std::min(params_.queue.in_flight, queue_.size());
    if (room > 0) {
      receive(room);
    } else {
      for (auto& job : pool_.take_done(wait_for_next())) settle(std::move(job));
    }
  }

  [[nodiscard]] milliseconds wait_for_next() const {
    auto out = jobs_ > 0 ? busy_wait : idle_wait;
    if (const auto due = queue_.first_retry()) {
      const auto rest = std::chrono::ceil<milliseconds>(*due - base::boot_now());
      out = std::clamp(rest, milliseconds(1), out);
    }
    return out;
  }

  void receive(std::size_t room) {
    const auto got = consumer_->receive(room, wait_for_next());
    if (!got) {
      static_cast<void>(still_connected(got.error()));
      return;
    }
    for (const auto& one : *got) take(one);
  }

  void take(const delivery& received) {
    report({.kind = event_kind::received, .message = &received});
    auto id = params_.id_of(received.received);
    // Without an id the inbox finds it dead.
    queue_.add(received, std::move(id).value_or(std::string()), next_extension());
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
      // What runs is settled all the same: its outcome is in the inbox.
      if (!queue_.runs(tag)) queue_.remove(tag);
    }
  }

  // --- what became of a batch

  void settle(batch_job job) {
    --jobs_;
    const bool current = consumer_ != nullptr && job.connection == connection_;
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
    for (const auto& one : job.deliveries) {
      if (consumer_ == nullptr) return;
      static_cast<void>(postpone(one.tag, store_pause_));
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
    if (!reply_result) {
      happened.kind = event_kind::not_settled;
      happened.text = reply_result.error().detail;
    }
    report(happened);
    if (!reply_result && !still_connected(reply_result.error())) return;
    if (!reply_result && reply_result.error().code != errc::not_found) {
      // The broker refused: the record knows the outcome, and a later delivery tries again.
      static_cast<void>(postpone(message.tag, retry_max));
      return;
    }
    if (reply_result && reply_to(outcome) == broker_reply::give_back) return;
    queue_.remove(message.tag);
  }

  /// Brings the message again after the pause, from the broker or from here.
  result<void> postpone(std::uint64_t tag, milliseconds pause) {
    if (consumer_->traits().delays && params_.order == order_rule::skip)
      return return_to(tag, pause);
    queue_.retry(tag, base::boot_now() + pause);
    // Messages that wait here must not keep others from being received.
    const bool crowded = queue_.waiting() > params_.queue.in_flight / 2;
    if (!crowded || params_.order == order_rule::stop) return {};
    const auto last = queue_.last_retry();
    return last ? return_to(*last, milliseconds(0)) : result<void>();
  }

  result<void> return_to(std::uint64_t tag, milliseconds pause) {
    auto given = consumer_->give_back(tag, pause);
    queue_.remove(tag);
    return given;
  }

  result<void> bury(const delivery& message, const inbox_outcome& outcome) {
    if (!params_.dead_letters) {
      return consumer_->traits().dead_letters ? consumer_->dead_letter(message.tag)
                                              : consumer_->acknowledge(message.tag);
    }
    if (auto published = publish_dead(dead_letter_of(message.received, outcome)); !published) {
      auto why = published.error();
      why.code = errc::conflict;  // it is not this consumer's connection that broke
      return why;
    }
    return consumer_->acknowledge(message.tag);
  }

  result<void> publish_dead(const message& dead) {
    if (dead_letters_ == nullptr) {
      auto opened = open_publisher(*params_.dead_letters);
      if (!opened) return opened.error();
      dead_letters_ = std::move(*opened);
    }
    auto done = dead_letters_->publish(std::span(&dead, 1));
    if (!done) dead_letters_.reset();
    return done;
  }

  // --- the end

  void finish() {
    if (consumer_ != nullptr) {
      for (const auto tag : queue_.idle()) {
        static_cast<void>(return_to(tag, milliseconds(0)));
      }
    }
    while (jobs_ > 0) {
      for (auto& job : pool_.take_done(idle_wait)) settle(std::move(job));
      if (consumer_ != nullptr) extend();
    }
    // Those that failed just now, too.
    if (consumer_ == nullptr) return;
    for (const auto tag : queue_.idle()) static_cast<void>(return_to(tag, milliseconds(0)));
  }

  void report(const event& happened) const {
    if (params_.on_event) params_.on_event(happened);
  }

  subscription_params params_;
  const std::stop_token stop_;
  const milliseconds retention_;
  message_queue queue_;
  std::unique_ptr<consumer> consumer_;
  std::unique_ptr<publisher> dead_letters_;
  std::uint64_t connection_ = 0;
  std::size_t jobs_ = 0;  // given to the pool and not taken back
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
  return subscription(params, std::move(stop), make_worker, retention).run();
}

}  // namespace v1
}  // namespace onceguard::messaging
