#include "engine/store_monitor.hpp"

#include "base/clock.hpp"
#include "base/latch.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "store/staleness.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr std::size_t sweep_batch = 500;  // small, so that claims can run between two batches

}  // namespace

/// A poll that is under way and whose reply several callers share. The poll is over when its
/// ownership is destroyed.
struct store_monitor::shared_poll {
  base::latch over;
  result<void> reply = error(errc::store_unreachable, "the poll of the store broke off");

  class ownership {
   public:
    ownership(store_monitor& monitor, std::shared_ptr<shared_poll> poll)
        : monitor_(monitor), poll_(std::move(poll)) {}
    ownership(const ownership&) = delete;
    ownership& operator=(const ownership&) = delete;
    ~ownership() {
      {
        const std::lock_guard lock(monitor_.mutex_);
        monitor_.polling_ = nullptr;
      }
      poll_->over.happen();
    }

   private:
    store_monitor& monitor_;
    const std::shared_ptr<shared_poll> poll_;
  };
};

store_monitor::store_monitor(store& records, const engine_params& params, replay_cache& cache,
                             engine_counters& counters)
    : store_(records),
      params_(params),
      cache_(cache),
      counters_(counters),
      loss_(params),
      outage_(records.traits().name) {}

void store_monitor::start(asio::io_context& io) {
  spawn_background(io, "poll the store", keep_polling());
  spawn_background(io, "check writes to the store", keep_checking_writes());
  spawn_background(io, "sweep", keep_sweeping());
}

asio::awaitable<result<void>> store_monitor::poll() {
  std::shared_ptr<shared_poll> shared;
  bool alone = false;
  {
    const std::lock_guard lock(mutex_);
    alone = polling_ == nullptr;
    if (alone) polling_ = std::make_shared<shared_poll>();
    shared = polling_;
  }
  if (alone) {
    const shared_poll::ownership ownership(*this, shared);
    shared->reply = co_await poll_now();
    if (shared->reply) {
      outage_.poll_answered();
    } else {
      poll_failed(shared->reply.error());
    }
    co_return shared->reply;
  }
  if (co_await shared->over.wait(params_.store_timeout)) co_return shared->reply;
  co_return error(errc::store_unreachable, "the store did not answer within its timeout");
}

asio::awaitable<result<void>> store_monitor::poll_now() {
  const auto begun = base::boot_now();
  const auto vitals = co_await store_.vitals(params_.store_timeout);
  if (!vitals) co_return vitals.error();
  switch (loss_.compare(*vitals, base::boot_now())) {
    case loss_watch::change::none:
      break;
    case loss_watch::change::lost:
      counters_.losses.fetch_add(1, std::memory_order_relaxed);
      cache_.begin_epoch();
      break;
    case loss_watch::change::forgotten:
      cache_.begin_epoch();
      break;
  }
  // A release of a completed record waits until no process can serve the record from memory. The
  // store's reply may be as old as the moment when the poll was sent, so the trusted time is
  // counted from that moment.
  cache_.trust_until(begun + fresh_for);
  known_ = true;
  co_return result<void>();
}

store_health store_monitor::health() const {
  auto out = outage_.health();
  out.refuses_for = loss_.refuses_for(base::boot_now());
  out.flagged = loss_.maybe_repeated(base::boot_now());
  out.swept_wall = swept_wall_;
  return out;
}

void store_monitor::poll_failed(const error& why) {
  outage_.poll_failed(why);
  if (why.code == errc::store_lost) known_ = false;
  if (why.code != errc::store_unreachable) {
    base::log(base::event::store_poll_failed, {{"why", why.detail}});
  }
}

void store_monitor::note(const error& why) noexcept {
  outage_.call_failed(why);
  if (why.code == errc::store_lost) known_ = false;
}

asio::awaitable<void> store_monitor::keep_polling() {
  while (!stopping_) {
    co_await sleep_for(poll_interval);
    static_cast<void>(co_await poll());  // a failure is logged
  }
}

/// Apart from the polls: a write may wait for a lock for the whole timeout, and replays go on
/// meanwhile.
asio::awaitable<void> store_monitor::keep_checking_writes() {
  while (!stopping_) {
    co_await sleep_for(poll_interval);
    outage_.writes_checked(co_await store_.check_writes(params_.store_timeout));
  }
}

asio::awaitable<void> store_monitor::keep_sweeping() {
  while (!stopping_) {
    co_await sleep_for(params_.sweep_interval);
    for (std::size_t gone = sweep_batch; gone == sweep_batch && !stopping_;) {
      const auto swept = co_await store_.sweep(sweep_batch, params_.store_timeout);
      if (!swept) {
        base::log(base::event::sweep_failed, {{"why", swept.error().detail}});
        break;
      }
      gone = *swept;
      counters_.swept.fetch_add(gone, std::memory_order_relaxed);
      swept_wall_ = base::system_clock().wall_ms();
    }
  }
}

}  // namespace onceguard
