#include "engine/engine.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "engine/held_bytes.hpp"
#include "engine/held_lease.hpp"
#include "engine/held_list.hpp"
#include "engine/loss_watch.hpp"
#include "engine/pause.hpp"
#include "engine/tally.hpp"

namespace onceguard {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr int claims_max = 8;                 // of one request, before it is told to come back
constexpr std::size_t waiting_bytes = 1'024;  // of a settle that waits, beside what it is made of

execution of_kind(execution_kind kind) {
  execution out;
  out.kind = kind;
  return out;
}

execution stored_answer(const answer_ptr& first_answer, answer_kept kept) {
  auto out = of_kind(execution_kind::stored);
  out.answer = first_answer;
  out.kept = kept;
  return out;
}

execution failed_with(error why) {
  auto out = of_kind(execution_kind::store_failed);
  out.failure = std::move(why);
  return out;
}

/// Before anything is claimed: what runs can be kept.
bool take_room(const operation& op) {
  if (op.answer_room == nullptr) return true;
  const auto more = std::max(op.longest_answer, op.usual_answer) - op.usual_answer;
  return op.answer_room->grow_to(op.usual_answer, more);
}

error memory_lost(effect on_store) {
  return {errc::store_lost, "the store has lost its memory", on_store};
}

/// A settle of what was granted.
settlement settle_of(const operation& op, const lease& held) {
  settlement out;
  out.id = op.id;
  out.token = held.token;
  out.claim_id = held.claim_id;
  out.about = op.about;
  return out;
}

}  // namespace

engine::engine(store& records, engine_params params, base::byte_budget& budget)
    : store_(records),
      params_(std::move(params)),
      budget_(budget),
      cache_(params_.replay_cache),
      waiting_(params_.max_waiters),
      loss_(std::make_unique<loss_watch>(params_)),
      held_(std::make_unique<held_list>()) {}

engine::~engine() { stop(); }

std::optional<cached_replay> engine::find_replay(const record_id& id, const fingerprint& print) {
  auto found = cache_.find(id, print, base::boot_now());
  if (found) counters_.cached_replays.fetch_add(1, std::memory_order_relaxed);
  return found;
}

void engine::remember(const operation& op, answer_ptr stored_answer, answer_kept kept,
                      milliseconds duration, std::uint64_t epoch) {
  // Whoever has the answer that is missing may still bring it.
  if (duration.count() <= 0 || kept == answer_kept::none) return;
  cached_replay entry;
  entry.answer = std::move(stored_answer);
  entry.kept = kept;
  cache_.put(op.id, op.about->print, std::move(entry), base::boot_now() + duration, epoch);
}

claim engine::make_claim(const operation& op) {
  claim out;
  out.id = op.id;
  base::random_bytes(out.claim_id);
  out.about = op.about;
  const auto& policy = *op.policy;
  out.lease = policy.lease;
  const bool transactional = policy.effect == effect_place::transactional;
  out.unknown = transactional ? unknown_policy::rerun : policy.unknown;
  // A mere look finds nothing while the first attempt is still on its way.
  if (policy.probe_mode == probe_rule::ask) out.probe_after = policy.upstream_timeout;
  out.unknown_retention = policy.unknown_retention;
  out.maybe_repeated = loss_->maybe_repeated(base::boot_now());
  return out;
}

asio::awaitable<execution> engine::execute(asio::io_context& io, operation op, work& doing) {
  auto out = co_await attempt(io, op, doing);
  if (out.kind == execution_kind::busy && op.policy->on_busy == on_busy_rule::wait) {
    co_return co_await wait_for_twin(io, op, doing);
  }
  co_return out;
}

asio::awaitable<execution> engine::attempt(asio::io_context& io, operation& op, work& doing) {
  if (!take_room(op)) co_return of_kind(execution_kind::no_room);
  if (!heard_) {
    // Nobody knows yet whether it remembers what was claimed before.
    const auto looked = co_await look();
    if (!looked) co_return co_await out_of_reach(op, doing, looked.error());
  }
  if (!op.places.empty()) {
    const auto looked = co_await go_where_it_is(op);
    if (!looked) co_return co_await out_of_reach(op, doing, looked.error());
  }
  for (int round = 0; round < claims_max; ++round) {
    const auto before = base::boot_now();
    if (loss_->refuses(before)) co_return failed_for_now(memory_lost(effect::none));
    const auto epoch = cache_.epoch();
    const auto request = make_claim(op);
    std::vector<claim> batch(1, request);
    auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
    auto& reply = replies[0];
    if (!reply) note(reply.error());
    if (!reply) co_return co_await claim_failed(io, op, doing, request, reply.error());

    switch (reply->kind) {
      case verdict_kind::run:
        if (loss_->refuses(base::boot_now())) {
          // A look told of a loss meanwhile. Nothing was sent: the lease is given back.
          co_return co_await claim_failed(io, op, doing, request, memory_lost(effect::done));
        }
        if (!op.places.empty()) {
          const auto moved = co_await yield_to_another_place(io, op, reply->lease);
          if (!moved) co_return co_await out_of_reach(op, doing, moved.error());
          if (*moved) break;
        }
        co_return co_await granted(io, op, doing, reply->lease, before);
      case verdict_kind::replay:
        counters_.replays.fetch_add(1, std::memory_order_relaxed);
        remember(op, reply->answer, reply->kept, reply->retention_left, epoch);
        co_return stored_answer(reply->answer, reply->kept);
      case verdict_kind::busy:
        counters_.busy.fetch_add(1, std::memory_order_relaxed);
        co_return of_kind(execution_kind::busy);
      case verdict_kind::mismatch:
        counters_.mismatches.fetch_add(1, std::memory_order_relaxed);
        co_return of_kind(execution_kind::mismatch);
      case verdict_kind::backoff: {
        counters_.backoffs.fetch_add(1, std::memory_order_relaxed);
        auto out = of_kind(execution_kind::backoff);
        out.retry_after = reply->retry_after;
        co_return out;
      }
      case verdict_kind::unknown: {
        counters_.unknowns.fetch_add(1, std::memory_order_relaxed);
        auto out = of_kind(execution_kind::unknown);
        out.retry_after = reply->retry_after;
        out.probed = request.unknown == unknown_policy::probe;
        co_return out;
      }
      case verdict_kind::remake_fingerprint:
        if (auto remade = remake(op, doing, reply->fingerprint_method); !remade) {
          co_return failed_with(std::move(remade).error());
        }
        break;
      case verdict_kind::refused:
        break;  // cannot be: the nonce is fresh; another one then
    }
  }
  co_return of_kind(execution_kind::busy);
}

asio::awaitable<execution> engine::claim_failed(asio::io_context& io, operation& op, work& doing,
                                                claim request, error why) {
  if (why.effect != effect::none && !stopping_) {
    tally one(following_up_);
    if (one.before() < params_.max_follow_ups) {
      spawn_background(io, "follow up a claim of unknown fate",
                       follow_up(std::move(request), std::move(one)));
    } else {
      base::log_recurring(base::log_level::error, "claim-not-followed-up",
                          {{"record", base::to_hex(op.id)}, {"why", "too many at once"}});
    }
  }
  co_return co_await out_of_reach(op, doing, std::move(why));
}

/// Nothing was claimed.
asio::awaitable<execution> engine::out_of_reach(operation& op, work& doing, error why) {
  counters_.store_failures.fetch_add(1, std::memory_order_relaxed);
  // Without its memory the store is in reach: what it refuses then, after_loss rules.
  const bool away = why.retryable() && why.code != errc::store_lost;
  if (op.policy->store_failure == store_failure_rule::open && away) {
    counters_.unguarded.fetch_add(1, std::memory_order_relaxed);
    base::log_recurring(base::log_level::warning, "unguarded-run", {{"why", why.detail}});
    co_await doing.run_unguarded();
    co_return of_kind(execution_kind::unguarded);
  }
  co_return failed_for_now(std::move(why));
}

execution engine::failed_for_now(error why) const {
  const bool lost = why.code == errc::store_lost;
  auto out = failed_with(std::move(why));
  if (lost) out.retry_after = loss_->refuses_for(base::boot_now());
  return out;
}

asio::awaitable<execution> engine::granted(asio::io_context& io, operation& op, work& doing,
                                           lease got, clock::time_point claimed) {
  auto held = std::make_shared<held_lease>(io, store_, op.id, got, op.policy->lease,
                                           params_.store_timeout, claimed);
  const held_list::entry listed(*held_, held);
  held->keep_renewing();
  if (got.probe) {
    if (auto reply = co_await asked(io, op, doing, *held)) co_return std::move(*reply);
  }
  counters_.runs.fetch_add(1, std::memory_order_relaxed);
  const auto epoch = cache_.epoch();
  settlement request;
  std::exception_ptr failure;
  try {
    request = co_await doing.run(*held);
  } catch (...) {
    // Whatever it was: the work had begun, so nobody knows what became of it.
    failure = std::current_exception();
    request.kind = settle_kind::abandon;
    request.why = unknown_reason::abandoned;
  }
  request.id = op.id;
  request.token = held->lease().token;
  request.claim_id = held->lease().claim_id;
  request.about = op.about;
  auto out = co_await finish(io, op, *held, std::move(request), epoch);
  held->stop_renewing();
  if (failure) std::rethrow_exception(failure);
  co_return out;
}

/// None: the application did not do it, and the lease allows to.
asio::awaitable<std::optional<execution>> engine::asked(asio::io_context& io, operation& op,
                                                        work& doing, held_lease& held) {
  counters_.probes.fetch_add(1, std::memory_order_relaxed);
  const auto epoch = cache_.epoch();
  const auto report = co_await doing.ask(held);
  base::log(base::log_level::info, "probed",
            {{"record", base::to_hex(op.id)},
             {"said", report.said == probe_answer::did       ? "did"
                      : report.said == probe_answer::did_not ? "did-not"
                                                             : "unclear"}});
  if (report.said == probe_answer::did_not) {
    const auto dispatched = co_await held.dispatch();
    if (!dispatched) {
      note(dispatched.error());
      // Nothing was sent. A release leaves the key free where the store has heard what was said,
      // and where it has not, as unknown as it was.
      held.stop_renewing();
      auto back = settle_of(op, held.lease());
      back.kind = settle_kind::release;
      settle_behind(io, std::move(back), base::reservation(budget_));
      co_return failed_with(dispatched.error());
    }
    if (!*dispatched) co_return of_kind(execution_kind::busy);
    co_return std::nullopt;
  }
  auto request = settle_of(op, held.lease());
  request.retention = op.policy->retention;
  if (report.said == probe_answer::did) {
    request.kind = settle_kind::complete;
    request.answer = report.answer;
    request.kept = report.answer ? answer_kept::full : answer_kept::none;
  } else {
    request.kind = settle_kind::abandon;
    request.why = unknown_reason::probe_inconclusive;
    request.probe_pause = milliseconds(1'000);
  }
  const bool did = report.said == probe_answer::did;
  const auto kept = request.kept;
  auto out = co_await finish(io, op, held, std::move(request), epoch);
  held.stop_renewing();
  if (out.kind == execution_kind::ran) {
    if (did) co_return stored_answer(report.answer, kept);
    out = of_kind(execution_kind::unknown);
    out.probed = true;
  }
  co_return out;
}

asio::awaitable<execution> engine::finish(asio::io_context& io, operation& op, held_lease& held,
                                          settlement request, std::uint64_t epoch) {
  // What was done is kept from others while the store is told. A lease that is given up is not
  // renewed any more.
  if (request.kind == settle_kind::abandon || request.kind == settle_kind::release)
    held.stop_renewing();
  const auto until = base::boot_now() + params_.settle_wait;
  retry_pause pause;
  for (;;) {
    std::vector<settlement> batch(1, request);
    auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (replies[0]) {
      if (replies[0]->outcome == settle_outcome::stale) co_return co_await superseded(op);
      co_return after_settle(op, request, *replies[0], epoch);
    }
    settle_failed(request, replies[0].error());
    if (base::boot_now() + pause.next() >= until || stopping_) break;
    co_await pause.sleep();
  }
  // The effect happened: it is not forgotten because nobody waits any longer.
  auto out = of_kind(execution_kind::unrecorded);
  out.settled_as = request.kind;
  base::reservation room(budget_);
  if (request.answer && op.answer_room != nullptr) room = std::move(*op.answer_room);
  settle_behind(io, std::move(request), std::move(room));
  co_return out;
}

void engine::settle_behind(asio::io_context& io, settlement request, base::reservation room) {
  counters_.late_settles.fetch_add(1, std::memory_order_relaxed);
  room.set(bytes_of(request) + waiting_bytes);
  spawn_background(io, "settle later",
                   settle_later(std::move(request), std::move(room), tally(settling_late_)));
}

asio::awaitable<execution> engine::superseded(const operation& op) {
  counters_.stale_settles.fetch_add(1, std::memory_order_relaxed);
  base::log(base::log_level::warning, "settle-was-stale", {{"record", base::to_hex(op.id)}});
  // Whoever has the key since may have asked for something else: then that answer is not for here.
  const auto found = co_await store_.find(op.id, params_.store_timeout);
  if (found && *found && (*found)->state == observed_state::completed &&
      (*found)->stored.about->print == op.about->print) {
    auto out = stored_answer((*found)->stored.answer, (*found)->stored.kept);
    tell(op, out);
    co_return out;
  }
  waiting_.look(op.id);
  co_return of_kind(execution_kind::unsure);
}

execution engine::after_settle(const operation& op, const settlement& request,
                               const settled& result, std::uint64_t epoch) {
  if (result.outcome == settle_outcome::incident) {
    counters_.incidents.fetch_add(1, std::memory_order_relaxed);
    base::log(base::log_level::error, "settled-a-record-that-was-gone",
              {{"record", base::to_hex(op.id)}});
  }
  if (result.state == observed_state::completed && result.answer) {  // told by the application
    tell(op, stored_answer(result.answer, result.kept));
    return stored_answer(result.answer, result.kept);
  }
  if (request.kind == settle_kind::complete) {
    // Completed by the application before: for how long, the next repeat hears.
    if (result.state != observed_state::completed) {
      remember(op, request.answer, request.kept, request.retention, epoch);
    }
    tell(op, stored_answer(request.answer, request.kept));
  } else {
    waiting_.look(op.id);
  }
  auto out = of_kind(execution_kind::ran);
  out.settled_as = request.kind;
  return out;
}

}  // namespace onceguard
