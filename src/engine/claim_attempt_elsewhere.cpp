// Claims of an operation that may stand under another scope, or whose twin runs.
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "engine/claim_answer.hpp"
#include "engine/claim_attempt.hpp"

namespace onceguard {

namespace asio = boost::asio;

milliseconds wait_of(const operation& op) {
  if (op.wait) return base::bounded(*op.wait);
  return op.policy->on_busy == on_busy_rule::wait ? op.policy->wait : milliseconds(0);
}

// ---- a route that had other scopes
//
// Each scope has a record of its own, so two requests may be granted leases under two scopes at the
// same time. A request that was granted a lease looks up the records under all other scopes before
// anything is sent. Of two such requests, at least one finds the other's record and releases its
// own lease.

/// Switches the operation to another scope with a live record; false: there is none.
asio::awaitable<result<bool>> claim_attempt::go_to_living_scope() {
  for (const auto& other : op_.scopes) {
    if (other.id == op_.id) continue;
    const auto found = co_await engine_.records.find(other.id, engine_.params.store_timeout);
    if (!found) co_return found.error();
    if (!*found || (*found)->state == observed_state::released) continue;
    static_cast<scoped_operation&>(op_) = other;
    as_sent_.reset();
    co_return true;
  }
  co_return false;
}

asio::awaitable<result<bool>> claim_attempt::yield_to_another_scope(lease got) {
  operation yielded = op_;
  auto moved = co_await go_to_living_scope();
  if (moved && !*moved) co_return false;
  yielded.answer_room = nullptr;
  lease_handle handle(std::make_shared<lease_handle::state>(engine_, home_, std::move(yielded), got,
                                                            base::boot_now()));
  settle_terms nothing_was_sent;
  nothing_was_sent.kind = settle_kind::release;
  co_await handle.settle(std::move(nothing_was_sent));
  co_return moved;
}

// ---- waiting for a running twin

asio::awaitable<claim_result> claim_attempt::wait_for_twin() {
  using woken = waiting_room::ticket::woken;
  give_back_room();
  const auto ticket = engine_.waiting.enter(op_.id, co_await asio::this_coro::executor);
  if (!ticket) co_return answer_of(outcome_kind::busy);
  const auto until = base::boot_now() + wait_of(op_);
  const auto twin_poll = engine_.params.twin_poll;
  const auto wake = [&ticket] { ticket->call(); };
  const std::stop_callback caller_left(op_.caller, wake);
  // The twin may have ended before this request had its ticket. So the first waiter in the queue
  // claims at once; the waiters behind it get its outcome.
  auto next = woken::to_poll;
  if (!ticket->first()) next = co_await ticket->wait(until, twin_poll);
  while (next != woken::late || base::boot_now() < until) {
    if (op_.caller.stop_requested()) break;
    if (next == woken::announced) {
      if (auto taken = take_over(*ticket->announced())) co_return std::move(*taken);
    }
    if (next != woken::late) {
      if (auto found = engine_.find_replay(op_.id, op_.about->print)) {
        auto out = replay_of(std::move(found->answer), found->kept);
        engine_.announce(op_, out.outcome);
        co_return out;
      }
      auto out = co_await attempt_within_quota();
      if (concerns_all(out.outcome.kind)) engine_.announce(op_, out.outcome);
      // The twin may have just released the key, and still hold its part of the quota. For records
      // that have to expire nobody waits here.
      const bool waits = out.outcome.kind == outcome_kind::busy ||
                         (out.outcome.kind == outcome_kind::over_quota &&
                          out.outcome.retry_after <= milliseconds(1'000));
      if (!waits || base::boot_now() >= until) co_return out;
    }
    give_back_room();
    next = co_await ticket->wait(until, twin_poll);
  }
  co_return answer_of(outcome_kind::busy);
}

/// None: the outcome is about another operation, and this request has to claim for itself.
std::optional<claim_result> claim_attempt::take_over(const twin_outcome& twin) {
  if (twin.print != op_.about->print) return std::nullopt;
  auto& counters = engine_.counters;
  switch (twin.outcome.kind) {
    case outcome_kind::replay:
      counters.replays.fetch_add(1, std::memory_order_relaxed);
      break;
    case outcome_kind::unknown:
      if (twin.policy != op_.policy) return std::nullopt;
      counters.unknowns.fetch_add(1, std::memory_order_relaxed);
      break;
    case outcome_kind::backoff:
      if (twin.policy != op_.policy) return std::nullopt;
      counters.backoffs.fetch_add(1, std::memory_order_relaxed);
      break;
    default:
      return std::nullopt;
  }
  claim_result out;
  out.outcome = twin.outcome;
  return out;
}

}  // namespace onceguard
