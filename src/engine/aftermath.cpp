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

asio::awaitable<void> engine::settle_later(settlement how, base::reservation room, tally) {
  retry_pause pause;
  while (!stopping_) {
    co_await pause.sleep();
    std::vector<settlement> batch(1, how);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (replies[0] || !replies[0].error().retryable()) {
      base::log(base::log_level::info, "settled-late",
                {{"record", base::to_hex(how.id)},
                 {"result", replies[0] ? "done" : replies[0].error().detail}});
      waiting_.look(how.id);
      break;
    }
  }
  room.clear();
}

asio::awaitable<void> engine::follow_up(claim asked, tally) {
  counters_.follow_ups.fetch_add(1, std::memory_order_relaxed);
  // It must not take over anything by itself; it only finds out what became of the first try.
  asked.unknown = unknown_policy::hold;
  asked.repeated = true;
  retry_pause pause;
  bool granted = false;
  settlement how;
  how.id = asked.id;
  how.nonce = asked.nonce;
  how.about = asked.about;
  how.kind = settle_kind::release;
  while (!stopping_) {
    co_await pause.sleep();
    if (!granted) {
      std::vector<claim> batch(1, asked);
      const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
      if (!replies[0]) {
        if (replies[0].error().retryable()) continue;
        break;
      }
      // Busy: also where the first try itself still waits in a commit that hangs. The settle tells:
      // it waits for that, and without a token it ends only what this claim id holds.
      granted = replies[0]->kind == verdict_kind::run;
      if (!granted && replies[0]->kind != verdict_kind::busy) break;
      how.token = granted ? replies[0]->lease.token : 0;
    }
    std::vector<settlement> batch(1, how);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (replies[0] || !replies[0].error().retryable()) break;
  }
  waiting_.look(asked.id);
}

asio::awaitable<void> engine::give_up_held() {
  std::vector<settlement> batch;
  for (const auto& held : held_->all()) {
    settlement how;
    how.id = held->id();
    how.token = held->lease().token;
    how.nonce = held->lease().nonce;
    how.kind = held->give_up() ? settle_kind::release : settle_kind::abandon;
    if (how.kind == settle_kind::abandon) how.why = unknown_reason::abandoned;
    batch.push_back(how);
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
