#include "engine/follow_up.hpp"

#include <utility>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "engine/held_bytes.hpp"
#include "engine/store_monitor.hpp"
#include "engine/unknown_outcomes.hpp"
#include "engine/waiting_room.hpp"
#include "store/record_errors.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

// The memory of a waiting settle, in addition to bytes_of(settlement).
constexpr std::size_t waiting_bytes = 1'024;

/// An error that does not go away by itself (a damaged page, for example) is not retried each
/// second.
constexpr milliseconds hopeless_pause{30'000};

asio::awaitable<void> pause_after(retry_pause& pause, const error* why) {
  const bool hopeless = why != nullptr && !why->retryable();
  co_await pause.sleep(hopeless ? hopeless_pause : retry_pause::longest);
}

}  // namespace

/// Counts an operation as in flight for as long as the guard lives.
class follow_up::in_flight_guard {
 public:
  in_flight_guard(follow_up& counted, std::atomic<std::size_t>& counter, const record_id& id)
      : owner_(&counted), counter_(counter), id_(id), before_(counter.fetch_add(1)) {
    const std::lock_guard lock(owner_->mutex_);
    owner_->ids_.insert(id_);
  }
  in_flight_guard(in_flight_guard&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)),
        counter_(other.counter_),
        id_(other.id_),
        before_(other.before_) {}
  in_flight_guard& operator=(in_flight_guard&&) = delete;
  ~in_flight_guard() {
    if (owner_ == nullptr) return;
    counter_.fetch_sub(1);
    const std::lock_guard lock(owner_->mutex_);
    owner_->ids_.erase(owner_->ids_.find(id_));
  }
  /// How many other operations were in flight when this guard was made.
  [[nodiscard]] std::size_t before() const noexcept { return before_; }

 private:
  follow_up* owner_;
  std::atomic<std::size_t>& counter_;
  record_id id_;
  std::size_t before_;
};

void follow_up::log_failed_settle(const settlement& request, const error& why) {
  monitor_.note(why);
  counters_.store_failures.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::settle_failed,
            {{"record", base::digest_text(request.id)}, {"why", why.detail}});
}

void follow_up::settle(asio::io_context& io, settlement request, std::string upstream,
                       byte_reservation room) {
  counters_.late_settles.fetch_add(1, std::memory_order_relaxed);
  room.set(bytes_of(request) + waiting_bytes);
  in_flight_guard guard(*this, settles_, request.id);
  spawn_background(io, "settle later",
                   keep_settling(std::move(request), std::move(upstream), std::move(room),
                                 std::move(guard), true));
}

void follow_up::settle_now(asio::io_context& io, settlement request, std::string upstream) {
  in_flight_guard guard(*this, settles_, request.id);
  spawn_background(io, "settle behind its request",
                   keep_settling(std::move(request), std::move(upstream), byte_reservation(budget_),
                                 std::move(guard), false));
}

/// Retries after every kind of error but that the record is settled and its answer illegible, until
/// the process ends, because nothing else knows that the work took effect.
asio::awaitable<void> follow_up::keep_settling(settlement request, std::string upstream,
                                               byte_reservation room, in_flight_guard, bool tried) {
  retry_pause pause;
  std::optional<error> why;
  while (!stopping_) {
    if (tried) co_await pause_after(pause, why ? &*why : nullptr);
    tried = true;
    std::vector<settlement> batch(1, request);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (!replies[0]) {
      log_failed_settle(request, replies[0].error());
      if (hides_answer(replies[0].error())) {
        waiting_.poll(request.id);
        co_return room.clear();
      }
      why = replies[0].error();
      continue;
    }
    unknowns_.settled(request, *replies[0], request.about.get(), upstream);
    const bool stale = replies[0]->outcome == settle_outcome::stale;
    if (stale) counters_.stale_settles.fetch_add(1, std::memory_order_relaxed);
    base::log(stale ? base::event::settle_was_stale : base::event::settled_late,
              {{"record", base::digest_text(request.id)}});
    waiting_.poll(request.id);
    co_return room.clear();
  }
  base::log(base::event::settle_given_up, {{"record", base::digest_text(request.id)},
                                           {"why", why ? why->detail : "the process ends"}});
}

void follow_up::claim_in_doubt(asio::io_context& io, claim request) {
  if (stopping_) return;
  in_flight_guard guard(*this, claims_, request.id);
  if (guard.before() < params_.max_follow_ups) {
    spawn_background(io, "follow up a claim in doubt",
                     resolve_claim(std::move(request), std::move(guard)));
  } else {
    base::log(base::event::claim_not_followed_up,
              {{"record", base::digest_text(request.id)}, {"why", "too many at once"}});
  }
}

asio::awaitable<void> follow_up::resolve_claim(claim request, in_flight_guard) {
  counters_.follow_ups.fetch_add(1, std::memory_order_relaxed);
  // The repeat must not take over the record: it only finds out the verdict on the first try.
  request.unknown = unknown_policy::hold;
  request.repeated = true;
  retry_pause pause;
  std::optional<error> why;
  const auto failed = [&](const error& cause) {
    monitor_.note(cause);
    base::log(base::event::claim_not_followed_up,
              {{"record", base::digest_text(request.id)}, {"why", cause.detail}});
    why = cause;
  };
  bool granted = false;
  onceguard::lease held;
  held.claim_id = request.claim_id;
  while (!stopping_) {
    co_await pause_after(pause, why ? &*why : nullptr);
    if (!granted) {
      std::vector<claim> batch(1, request);
      const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
      if (!replies[0]) {
        failed(replies[0].error());
        continue;
      }
      // A busy verdict also comes while the first try itself still waits in a commit that hangs.
      // The settle waits for that commit. A settle without a token ends only a lease that has this
      // claim id.
      granted = replies[0]->kind == verdict_kind::run;
      if (!granted && replies[0]->kind != verdict_kind::busy) break;
      held.token = granted ? replies[0]->lease.token : 0;
    }
    settle_terms terms;
    terms.kind = settle_kind::release;
    std::vector<settlement> batch(1, settle_lease(request.id, held, request.about, terms));
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (replies[0]) break;
    failed(replies[0].error());
  }
  waiting_.poll(request.id);
}

}  // namespace onceguard
