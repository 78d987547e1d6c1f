#include "engine/claim_attempt.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "core/work_digests.hpp"
#include "engine/claim_answer.hpp"
#include "engine/engine_state.hpp"
#include "engine/redirected_operation.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard {
namespace {

namespace asio = boost::asio;
using clock = base::boot_clock;

constexpr int claims_max = 8;  // of one request, before the request is answered as busy

/// Whether another claim's lease has the record, or had it and was never settled.
bool meets_lease(verdict_kind kind) noexcept {
  return kind == verdict_kind::busy || kind == verdict_kind::unknown;
}

}  // namespace

/// Reserves memory for the answer before anything is claimed, so that the answer can be kept.
bool claim_attempt::take_room() const {
  if (op_.answer_room == nullptr) return true;
  const auto more = std::max(op_.longest_answer, op_.usual_answer) - op_.usual_answer;
  return op_.answer_room->grow_to(op_.usual_answer, more);
}

/// A waiting request must not hold memory that running requests need.
void claim_attempt::give_back_room() const noexcept {
  if (op_.answer_room != nullptr) op_.answer_room->clear();
}

claim claim_attempt::make_claim() const {
  claim out;
  out.id = op_.id;
  if (op_.claim) {
    out.claim_id = make_try_of(*op_.claim);
  } else {
    base::random_bytes(out.claim_id);
  }
  out.into_started = op_.into_started;
  out.about = op_.about;
  const auto& policy = *op_.policy;
  out.lease = lease_length(policy);
  out.retention = policy.retention;
  const bool transactional = policy.effect == effect_rule::transactional;
  // Safe there: the transaction of an earlier attempt can't commit under its lease any more.
  out.unknown = transactional ? unknown_policy::rerun : policy.unknown;
  // Without fencing, a probe finds nothing while the first attempt is still on its way.
  if (policy.probe_mode == probe_rule::ask) out.probe_after = policy.upstream_timeout;
  out.unknown_retention = policy.unknown_retention;
  out.maybe_repeated = engine_.monitor.loss().maybe_repeated(base::boot_now());
  return out;
}

asio::awaitable<claim_result> claim_attempt::attempt_within_quota() {
  auto out = co_await attempt();
  // What runs without a record brought its key all the same.
  if (out.outcome.kind == outcome_kind::unguarded) quota_.keep_key();
  quota_.leave();
  co_return out;
}

asio::awaitable<std::optional<claim_result>> claim_attempt::refuse_over_quota() {
  const auto now = base::boot_now();
  auto got = engine_.quotas.take(op_.id, *op_.about, *op_.policy, now);
  if (got.over == scope_quotas::limit::none) {
    quota_ = std::move(got.held);
    co_return std::nullopt;
  }
  // A repeat is answered whatever its scope has used up: only here it has to be known for one.
  const auto found = co_await engine_.records.find(op_.id, engine_.params.store_timeout);
  if (!found) {
    // Not unguarded, whatever the policy says of a store that is away: that would be no limit.
    engine_.monitor.note(found.error());
    engine_.counters.store_failures.fetch_add(1, std::memory_order_relaxed);
    co_return store_failed(found.error());
  }
  if (*found && (*found)->state != observed_state::released) {
    quota_ = engine_.quotas.take_known(op_.id, *op_.about, *op_.policy, now);
    co_return std::nullopt;
  }
  engine_.counters.over_quota.fetch_add(1, std::memory_order_relaxed);
  engine_.quotas.note_refusal(*op_.about, got.over, now);
  auto out = answer_of(outcome_kind::over_quota);
  out.outcome.retry_after = got.retry_after;
  co_return out;
}

asio::awaitable<claim_result> claim_attempt::attempt() {
  if (!take_room()) co_return answer_of(outcome_kind::no_room);
  if (!engine_.monitor.knows_store()) {
    // It is not known yet whether the store still has the records of earlier claims.
    const auto polled = co_await engine_.monitor.poll();
    if (!polled) co_return out_of_reach(polled.error());
  }
  if (!op_.scopes.empty()) {
    const auto found = co_await go_to_living_scope();
    if (!found) co_return out_of_reach(found.error());
  }
  if (scope_quotas::applies_to(*op_.policy)) {
    if (auto out = co_await refuse_over_quota()) co_return std::move(*out);
  }
  for (int round = 0; round < claims_max; ++round) {
    if (auto out = co_await claim_once()) co_return std::move(*out);
  }
  co_return answer_of(outcome_kind::busy);
}

asio::awaitable<result<verdict>> claim_attempt::send(claim request) {
  std::vector<claim> batch(1, std::move(request));
  auto replies = co_await engine_.records.claim(std::move(batch), engine_.params.store_timeout);
  sealed::refuse_sealed(replies[0], op_.id, effect::none);
  co_return std::move(replies[0]);
}

asio::awaitable<std::optional<claim_result>> claim_attempt::claim_once() {
  // Counted from before the claim is sent, the lease ends here before it ends in the store.
  const auto before = base::boot_now();
  if (engine_.monitor.loss().refuses_for(before).count() > 0) {
    co_return store_failed(memory_lost(effect::none));
  }
  const auto epoch = engine_.cache.epoch();
  auto request = make_claim();
  // What this process reports to the store meanwhile may be through when the verdict arrives.
  const bool reporting = engine_.behind.pending() != 0 && engine_.behind.concerns(op_.id);
  auto reply = co_await send(request);
  taken_ = taken_ || (reply && meets_lease(reply->kind));
  if (op_.claim && reply && meets_lease(reply->kind)) {
    const auto holder = co_await holder_met();
    if (holder == record_holder::nobody) co_return std::nullopt;
    if (holder == record_holder::unseen) {
      reply = co_await claim_after_commit(request);
      if (!reply) co_return busy();  // however the store fares
      if (meets_lease(reply->kind)) co_return std::nullopt;
    }
  }
  if (!reply) {
    engine_.monitor.note(reply.error());
    co_return in_doubt(request, std::move(reply).error());
  }
  engine_.monitor.answered(reply->kind == verdict_kind::run);
  engine_.met(op_, *reply, reporting);
  switch (reply->kind) {
    case verdict_kind::run:
      co_return co_await granted(request, reply->lease, before);
    case verdict_kind::replay:
      engine_.remember(op_, reply->answer, reply->kept, reply->retention_left, epoch);
      co_return co_await stored_answer(*reply);
    case verdict_kind::remake_fingerprint: {
      auto other = remake_fingerprint(reply->fingerprint_method);
      if (!other || other->outcome.kind != outcome_kind::mismatch) co_return other;
      co_return co_await differs(other->outcome.other_work);
    }
    case verdict_kind::mismatch:
      if (take_former_marks()) co_return std::nullopt;
      co_return co_await differs(false);  // the methods are the same, and they tell the work
    case verdict_kind::refused:           // impossible of a fresh claim id
    case verdict_kind::busy:
    case verdict_kind::backoff:
    case verdict_kind::unknown:
      break;
  }
  co_return refused(request, *reply);
}

/// Who has the lease that the claim met. Looked for once: who comes later is no earlier try.
asio::awaitable<record_holder> claim_attempt::holder_met() {
  if (knows_holder_) co_return record_holder::another;
  const auto holder = co_await end_earlier_try(engine_.records, op_.id, *op_.claim, op_.caller,
                                               engine_.params.store_timeout);
  if (!holder) co_return record_holder::another;
  knows_holder_ = *holder == record_holder::another;
  co_return *holder;
}

/// A transaction that nobody can see yet has the record. It may be that of an earlier try, so its
/// end is waited for.
asio::awaitable<result<verdict>> claim_attempt::claim_after_commit(claim& request) {
  request.repeated = true;
  auto reply = co_await send(request);
  if (!reply && reply.error().effect != effect::none) {
    engine_.behind.claim_in_doubt(home_.io, request);
  }
  co_return reply;
}

claim_result claim_attempt::refused(const claim& request, const verdict& verdict) {
  auto& counters = engine_.counters;
  switch (verdict.kind) {
    case verdict_kind::backoff: {
      counters.backoffs.fetch_add(1, std::memory_order_relaxed);
      auto out = answer_of(outcome_kind::backoff);
      out.outcome.retry_after = verdict.retry_after;
      return out;
    }
    case verdict_kind::unknown: {
      counters.unknowns.fetch_add(1, std::memory_order_relaxed);
      auto out = answer_of(outcome_kind::unknown);
      out.outcome.retry_after = verdict.retry_after;
      out.outcome.probed = request.unknown == unknown_policy::probe;
      return out;
    }
    default:
      return busy();
  }
}

claim_result claim_attempt::busy() {
  engine_.counters.busy.fetch_add(1, std::memory_order_relaxed);
  return answer_of(outcome_kind::busy);
}

asio::awaitable<std::optional<claim_result>> claim_attempt::granted(const claim& request, lease got,
                                                                    clock::time_point claimed) {
  if (engine_.monitor.loss().refuses_for(base::boot_now()).count() > 0) {
    // A poll noticed a loss meanwhile. Nothing was sent: the follow-up releases the lease.
    co_return in_doubt(request, memory_lost(effect::done));
  }
  if (!op_.scopes.empty()) {
    const auto moved = co_await yield_to_another_scope(got);
    if (!moved) co_return out_of_reach(moved.error());
    if (*moved) co_return std::nullopt;
  }
  if (!got.probe) note_run(request, got);
  // An attempt that is not the first is of a key that was new before.
  const bool is_first = got.attempt == 1;
  if (is_first) quota_.keep_key();
  if (is_first) quota_.keep_record();
  claim_result out = answer_of(outcome_kind::granted);
  auto held = std::make_shared<lease_handle::state>(engine_, home_, std::move(op_), got, claimed);
  held->quota = std::move(quota_);
  out.lease.emplace(std::move(held));
  co_return out;
}

void claim_attempt::note_run(const claim& request, const lease& got) {
  auto& counters = engine_.counters;
  counters.runs.fetch_add(1, std::memory_order_relaxed);
  if (got.attempt == 1) engine_.scopes.began(op_);
  engine_.unknowns.began(op_.id);
  if (!request.maybe_repeated) return;
  counters.maybe_repeated.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::maybe_repeated,
            {{"route", op_.about->route}, {"record", base::digest_text(op_.id)}});
}

claim_result claim_attempt::in_doubt(claim request, error why) {
  if (why.effect != effect::none) engine_.behind.claim_in_doubt(home_.io, std::move(request));
  return out_of_reach(std::move(why));
}

/// The outcome of an operation for which nothing was claimed, as the store failed.
claim_result claim_attempt::out_of_reach(error why) {
  engine_.counters.store_failures.fetch_add(1, std::memory_order_relaxed);
  // A store that lost its memory can be reached: the rule for such a store is after_loss, not
  // store_failure.
  const bool away = why.retryable() && why.code != errc::store_lost;
  // Who knows that the key is taken runs nothing without a guard.
  if (op_.policy->store_failure == store_failure_rule::open && away && !taken_) {
    engine_.counters.unguarded.fetch_add(1, std::memory_order_relaxed);
    base::log(base::event::unguarded_run, {{"why", why.detail}});
    return answer_of(outcome_kind::unguarded);
  }
  return store_failed(std::move(why));
}

/// After a loss, the outcome says when claims are possible again.
claim_result claim_attempt::store_failed(error why) const {
  auto out = answer_of(outcome_kind::store_failed);
  if (why.code == errc::store_lost) {
    out.outcome.retry_after = engine_.monitor.loss().refuses_for(base::boot_now());
  }
  out.outcome.failure = std::move(why);
  return out;
}

/// The record's fingerprint was made by another method than this operation's. Makes the operation's
/// fingerprint by the same method, so that the two can be compared by another claim. A method tells
/// the work as well: where that differs, there is nothing left to compare.
std::optional<claim_result> claim_attempt::remake_fingerprint(const std::string& method) {
  const auto rule = fingerprint_rule::parse(method);
  if (!rule) {
    auto out = answer_of(outcome_kind::store_failed);
    out.outcome.failure = error(errc::record_unreadable, rule.error().detail);
    return out;
  }
  auto about = std::make_shared<subject>(*op_.about);
  about->print = make_fingerprint(*rule, op_.input);
  if (about->print.method != method) {
    auto out = answer_of(outcome_kind::mismatch);
    out.outcome.other_work = core::other_work(about->print.method, method);
    return out;
  }
  if (!as_sent_) as_sent_ = op_;
  op_.about = std::move(about);
  return std::nullopt;
}

/// The record is of another request. None: it leads to this one.
asio::awaitable<std::optional<claim_result>> claim_attempt::differs(bool other_work) {
  if (as_sent_) static_cast<scoped_operation&>(op_) = *std::exchange(as_sent_, std::nullopt);
  if (co_await follow_redirect(engine_, op_)) co_return std::nullopt;
  engine_.counters.mismatches.fetch_add(1, std::memory_order_relaxed);
  auto out = answer_of(outcome_kind::mismatch);
  out.outcome.other_work = other_work;
  co_return out;
}

/// None: the answer is a redirect that leads back here, and another claim is due.
asio::awaitable<std::optional<claim_result>> claim_attempt::stored_answer(const verdict& verdict) {
  kept_reply reply{verdict.answer, verdict.kept};
  if (is_redirect(op_, verdict.answer)) {
    if (auto last = co_await end_of_redirect(engine_, op_, verdict.answer)) {
      reply = std::move(*last);
    } else if (co_await take_way_back(engine_, op_)) {
      co_return std::nullopt;
    }
  }
  engine_.counters.replays.fetch_add(1, std::memory_order_relaxed);
  co_return replay_of(std::move(reply.answer), reply.kept);
}

/// The record may be one of an earlier version, which took fewer of the request's fields for marks
/// of its caller. False: that was tried, or there is nothing to try.
bool claim_attempt::take_former_marks() {
  if (!op_.more_before) return false;
  const auto sent = as_sent_.value_or(op_);
  op_.input.more = *std::exchange(op_.more_before, std::nullopt);
  const std::string method = op_.about->print.method;
  const bool remade = !remake_fingerprint(method);
  as_sent_ = sent;
  as_sent_->more_before.reset();
  return remade;
}

asio::awaitable<claim_result> claim_operation(engine::state& engine, lease_home home,
                                              operation operation) {
  claim_attempt attempt(engine, home, std::move(operation));
  co_return co_await attempt.run();
}

}  // namespace onceguard
