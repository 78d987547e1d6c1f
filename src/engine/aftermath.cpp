// What is still to be done for a request that has its answer, and for those that never will.
#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/held_list.hpp"
#include "engine/pause.hpp"
#include "engine/tally.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

/// An error that does not pass by itself (a damaged page, say) is not asked about each second.
constexpr milliseconds hopeless_pause{30'000};

asio::awaitable<void> pause_after(retry_pause& pause, const error* why) {
  const bool hopeless = why != nullptr && !why->retryable();
  co_await pause.sleep(hopeless ? hopeless_pause : retry_pause::longest);
}

}  // namespace

void engine::settle_failed(const settlement& request, const error& why) {
  note(why);
  counters_.store_failures.fetch_add(1, std::memory_order_relaxed);
  base::log_recurring(base::log_level::error, "settle-failed",
                      {{"record", base::to_hex(request.id)}, {"why", why.detail}});
}

/// Whatever the error: that it took effect is known to nobody else. Ends with the process.
asio::awaitable<void> engine::settle_later(settlement request, base::reservation room, tally) {
  retry_pause pause;
  std::optional<error> why;
  while (!stopping_) {
    co_await pause_after(pause, why ? &*why : nullptr);
    std::vector<settlement> batch(1, request);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (!replies[0]) {
      settle_failed(request, replies[0].error());
      why = replies[0].error();
      continue;
    }
    const bool stale = replies[0]->outcome == settle_outcome::stale;
    if (stale) counters_.stale_settles.fetch_add(1, std::memory_order_relaxed);
    base::log(stale ? base::log_level::warning : base::log_level::info,
              stale ? "settle-was-stale" : "settled-late", {{"record", base::to_hex(request.id)}});
    waiting_.look(request.id);
    co_return room.clear();
  }
  base::log(
      base::log_level::error, "settle-given-up",
      {{"record", base::to_hex(request.id)}, {"why", why ? why->detail : "the process ends"}});
}

asio::awaitable<void> engine::follow_up(claim request, tally) {
  counters_.follow_ups.fetch_add(1, std::memory_order_relaxed);
  // It must not take over anything by itself; it only finds out what became of the first try.
  request.unknown = unknown_policy::hold;
  request.repeated = true;
  retry_pause pause;
  std::optional<error> why;
  const auto failed = [&](const error& failure) {
    note(failure);
    base::log_recurring(base::log_level::error, "claim-not-followed-up",
                        {{"record", base::to_hex(request.id)}, {"why", failure.detail}});
    why = failure;
  };
  bool granted = false;
  settlement mode;
  mode.id = request.id;
  mode.claim_id = request.claim_id;
  mode.about = request.about;
  mode.kind = settle_kind::release;
  while (!stopping_) {
    co_await pause_after(pause, why ? &*why : nullptr);
    if (!granted) {
      std::vector<claim> batch(1, request);
      const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
      if (!replies[0]) {
        failed(replies[0].error());
        continue;
      }
      // Busy: also where the first try itself still waits in a commit that hangs. The settle tells:
      // it waits for that, and without a token it ends only what this claim id holds.
      granted = replies[0]->kind == verdict_kind::run;
      if (!granted && replies[0]->kind != verdict_kind::busy) break;
      mode.token = granted ? replies[0]->lease.token : 0;
    }
    std::vector<settlement> batch(1, mode);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (replies[0]) break;
    failed(replies[0].error());
  }
  waiting_.look(request.id);
}

asio::awaitable<void> engine::give_up_held() {
  std::vector<settlement> batch;
  for (const auto& held : held_->all()) {
    settlement request;
    request.id = held->id();
    request.token = held->lease().token;
    request.claim_id = held->lease().claim_id;
    request.kind = held->give_up() ? settle_kind::release : settle_kind::abandon;
    if (request.kind == settle_kind::abandon) request.why = unknown_reason::abandoned;
    batch.push_back(request);
  }
  if (batch.empty()) co_return;
  base::log(base::log_level::warning, "leases-given-up", {{"count", std::to_string(batch.size())}});
  const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
  for (const auto& reply : replies) {
    if (!reply) {
      base::log(base::log_level::error, "lease-not-given-up", {{"why", reply.error().detail}});
    }
  }
}

}  // namespace onceguard
