// What an engine does beside its requests: it watches the store, listens, and sweeps.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/event.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "engine/engine.hpp"
#include "engine/loss_watch.hpp"
#include "engine/pause.hpp"
#include "store/staleness.hpp"

namespace onceguard {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t sweep_batch = 500;  // small, so that claims come in between

}  // namespace

void engine::start(asio::io_context& io) {
  spawn_background(io, "watch the store", watch());
  spawn_background(io, "sweep", sweep());
  listening_ = true;
  store_.on_settled(
      [this](const std::vector<std::uint64_t>& settled) { waiting_.look_by_prefix(settled); });
}

void engine::expect(milliseconds loss_quiet, milliseconds longest_retention) {
  loss_->expect(loss_quiet, longest_retention);
}

result<void> engine::check() const { return loss_->check(); }

void engine::stop() {
  stopping_ = true;
  if (listening_.exchange(false)) store_.on_settled(nullptr);
}

/// A look that is under way: it is over when its owner lets go of it.
struct engine::shared_look {
  base::event over;
  result<void> reply = error(errc::store_unreachable, "the look at the store broke off");

  class ownership {
   public:
    ownership(engine& engine, std::shared_ptr<shared_look> look)
        : by_(engine), look_(std::move(look)) {}
    ownership(const ownership&) = delete;
    ownership& operator=(const ownership&) = delete;
    ~ownership() {
      {
        const std::lock_guard lock(by_.look_mutex_);
        by_.looking_ = nullptr;
      }
      look_->over.happen();
    }

   private:
    engine& by_;
    const std::shared_ptr<shared_look> look_;
  };
};

asio::awaitable<result<void>> engine::look() {
  std::shared_ptr<shared_look> shared;
  bool alone = false;
  {
    const std::lock_guard lock(look_mutex_);
    alone = looking_ == nullptr;
    if (alone) looking_ = std::make_shared<shared_look>();
    shared = looking_;
  }
  if (alone) {
    const shared_look::ownership own(*this, shared);
    shared->reply = co_await look_now();
    co_return shared->reply;
  }
  if (co_await shared->over.wait(params_.store_timeout)) co_return shared->reply;
  co_return error(errc::store_unreachable, "the store did not answer within its timeout");
}

asio::awaitable<result<void>> engine::look_now() {
  const auto asked_at = base::boot_now();
  const auto now = co_await store_.vitals(params_.store_timeout);
  if (now) {
    switch (loss_->heard(*now, base::boot_now())) {
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
    // An operator who released a completed record waits until no process can serve it from memory.
    // What was heard was true at the latest when it was asked.
    cache_.trust_until(asked_at + fresh_for);
    heard_ = true;
  }
  if (!now) co_return now.error();
  co_return result<void>();
}

/// It says that it lost its memory, and knows that before any look could tell.
void engine::note(const error& why) noexcept {
  if (why.code == errc::store_lost) heard_ = false;
}

asio::awaitable<void> engine::watch() {
  while (!stopping_) {
    co_await sleep_for(poll_interval);
    if (const auto looked = co_await look(); !looked) {
      base::log(base::log_level::warning, "store-not-heard", {{"why", looked.error().detail}});
    }
  }
}

asio::awaitable<void> engine::sweep() {
  while (!stopping_) {
    co_await sleep_for(params_.sweep_interval);
    for (std::size_t gone = sweep_batch; gone == sweep_batch && !stopping_;) {
      const auto swept = co_await store_.sweep(sweep_batch, params_.store_timeout);
      if (!swept) {
        base::log(base::log_level::warning, "sweep-failed", {{"why", swept.error().detail}});
        break;
      }
      gone = *swept;
      counters_.swept.fetch_add(gone, std::memory_order_relaxed);
    }
  }
}

}  // namespace onceguard
