#include <algorithm>

#include <onceguard/decide.hpp>

#include "core/decide_rules.hpp"

namespace onceguard {
inline namespace v1 {

using namespace rules;

namespace {

lease lease_of(const record& r) {
  lease l;
  l.token = r.token;
  l.claim_id = r.claim_id;
  l.attempt = r.attempt;
  l.probe = r.state == record_state::probing;
  l.started = r.state == record_state::started;
  return l;
}

/// A new lease on the stored record, or on a new one.
decision grant(const record* stored, const claim& request, const instant& now, token next,
               record_state next_state) {
  record r;
  // What is known of earlier attempts outlives a release and a takeover, a doubt above all: it must
  // not end because one lease did nothing.
  if (stored != nullptr && !expired(*stored, now)) {
    r.attempt = stored->attempt;
    r.failures = stored->failures;
    r.maybe_repeated = stored->maybe_repeated;
    r.earlier_unknown = stored->earlier_unknown;
    r.why = stored->earlier_unknown ? stored->why : unknown_reason::none;
    r.why_status = stored->earlier_unknown ? stored->why_status : std::uint16_t{0};
  }
  // The fingerprint may change here: it was compared, or the record counts as absent.
  r.about = request.about;
  r.state = next_state;
  r.token = next;
  r.claim_id = request.claim_id;
  r.attempt += 1;
  r.claimed_at_wall = now.wall;
  r.unknown_retention_ms = std::max<std::int64_t>(request.unknown_retention.count(), 0);
  r.maybe_repeated = r.maybe_repeated || request.maybe_repeated;
  set_deadline(r, request.lease, now);

  decision out;
  out.verdict.kind = verdict_kind::run;
  out.verdict.lease = lease_of(r);
  out.write = std::move(r);
  return out;
}

decision only(verdict_kind kind) {
  decision out;
  out.verdict.kind = kind;
  return out;
}

decision wait_for(verdict_kind kind, std::int64_t until, const instant& now) {
  auto out = only(kind);
  out.verdict.retry_after = milliseconds(std::max<std::int64_t>(until - now.lease, 0));
  return out;
}

decision outcome_unknown(const record& r, const instant& now, std::int64_t ask_again_in) {
  auto out = only(verdict_kind::unknown);
  out.verdict.why = r.why == unknown_reason::none ? unknown_reason::holder_gone : r.why;
  out.verdict.why_status = r.why_status;
  // The wall clock may have stepped back since the claim.
  out.verdict.since = milliseconds(std::max<std::int64_t>(now.wall - r.claimed_at_wall, 0));
  out.verdict.retry_after = milliseconds(std::max<std::int64_t>(ask_again_in, 0));
  return out;
}

/// A lease on a record whose outcome is unknown. The outcome stays unknown until this lease
/// completes or the application reports that the operation did not take effect.
decision grant_unknown(const record& r, const claim& request, const instant& now, token next,
                       record_state state) {
  auto out = grant(&r, request, now, next, state);
  out.write->earlier_unknown = true;
  out.write->why = r.why == unknown_reason::none ? unknown_reason::holder_gone : r.why;
  out.write->why_status = r.why_status;
  out.verdict.why = out.write->why;
  out.verdict.why_status = out.write->why_status;
  return out;
}

decision meet_unknown(const record& r, const claim& request, const instant& now, token next) {
  switch (request.unknown) {
    case unknown_policy::hold:
      return outcome_unknown(r, now, 0);
    case unknown_policy::rerun:
      return grant_unknown(r, request, now, next, record_state::in_progress);
    case unknown_policy::probe:
      break;
  }
  // A probe that fences may ask at once, also where the wall clock stepped back behind the claim.
  const auto paused = r.retry_at_lease - now.lease;
  const auto too_young = after(r.claimed_at_wall, request.probe_after) - now.wall;
  const auto first_ask = request.probe_after.count() == 0 ? 0 : too_young;
  if (const auto left = std::max(paused, first_ask); left > 0) return outcome_unknown(r, now, left);
  auto out = grant_unknown(r, request, now, next, record_state::probing);
  // Keep the claim time of the attempt whose outcome is unknown.
  out.write->claimed_at_wall = r.claimed_at_wall;
  return out;
}

decision replay(const record& r, const instant& now) {
  auto out = only(verdict_kind::replay);
  out.verdict.answer = r.answer;
  out.verdict.kept = r.kept;
  if (r.expires_at_wall != 0) {
    out.verdict.retention_left =
        milliseconds(std::max<std::int64_t>(r.expires_at_wall - now.wall, 0));
  }
  return out;
}

}  // namespace

bool expired(const record& stored, const instant& now) noexcept {
  if (now.expiry_paused || stored.expires_at_wall == 0) return false;
  // The wall clock may be wrong: unknown_retention never ends a lease that runs.
  if (unsettled(stored) && !lease_over(stored, now)) return false;
  return now.wall >= stored.expires_at_wall;
}

observed_state observe(const record& stored, const instant& now) noexcept {
  // A `started` record whose lease is over is not unknown: nothing was sent under that lease.
  const bool may_have_run =
      stored.state == record_state::in_progress || stored.state == record_state::probing;
  if (may_have_run && lease_over(stored, now)) return observed_state::unknown;
  return static_cast<observed_state>(stored.state);
}

decision decide(const record* stored, const claim& request, const instant& now, token next) {
  // First of all checks: a claim in doubt can arrive after the release that follows it up, and
  // nobody would hold the lease that it got.
  const bool same_claim = stored != nullptr && stored->claim_id == request.claim_id;
  if (same_claim && stored->state == record_state::released) return only(verdict_kind::refused);
  if (counts_as_absent(stored, now)) {
    return grant(stored, request, now, next,
                 request.into_started ? record_state::started : record_state::in_progress);
  }
  const record& r = *stored;
  if (same_claim && unsettled(r)) {  // a repeated claim whose reply was lost
    auto out = only(verdict_kind::run);
    out.verdict.lease = lease_of(r);
    return out;
  }
  // Compare fingerprints before revealing anything about the key's record. An operator's completion
  // of an unreadable record has no fingerprint.
  const auto& print = r.about->print;
  if (!print.method.empty()) {
    if (print.method != request.about->print.method) {
      auto out = only(verdict_kind::remake_fingerprint);
      out.verdict.fingerprint_method = print.method;
      return out;
    }
    if (print.value != request.about->print.value) return only(verdict_kind::mismatch);
  }

  const auto target = request.into_started ? record_state::started : record_state::in_progress;
  switch (r.state) {
    case record_state::completed:
      return replay(r, now);
    case record_state::failed:
      if (now.lease < r.retry_at_lease) {
        return wait_for(verdict_kind::backoff, r.retry_at_lease, now);
      }
      return grant(&r, request, now, next, target);
    case record_state::started:
      if (!lease_over(r, now)) return wait_for(verdict_kind::busy, r.deadline_lease, now);
      // Nothing was sent under the last lease, so another one leaves no doubt behind.
      return grant(&r, request, now, next, target);
    case record_state::in_progress:
    case record_state::probing:
      if (!lease_over(r, now)) return wait_for(verdict_kind::busy, r.deadline_lease, now);
      return meet_unknown(r, request, now, next);
    case record_state::released:
      break;  // handled above: counts as absent
  }
  return only(verdict_kind::refused);
}

using namespace rules;

namespace {

std::int64_t ago(milliseconds length, std::int64_t now) noexcept {
  return now - std::max<std::int64_t>(length.count(), 0);
}

record imported(const imported_record& request, const instant& now) {
  record out = request.stored;
  out.deadline_lease = ago(request.lease_over, now.lease);
  out.retry_at_lease = after(now.lease, std::max(request.retry_after, milliseconds(0)));
  out.claimed_at_wall = ago(request.claimed_ago, now.wall);
  out.settled_at_wall = unsettled(out) ? 0 : ago(request.settled_ago, now.wall);
  // What was over stays over: as expires_at_wall, 0 would mean that the record never expires.
  const auto left = request.retention_left;
  out.expires_at_wall = left.count() == 0 ? 0 : after(now.wall, std::max(left, milliseconds(1)));
  return out;
}

}  // namespace

import_decision decide_import(const record* stored, const imported_record& request,
                              const instant& now) {
  import_decision out;
  if (stored == nullptr || expired(*stored, now)) {
    out.write = imported(request, now);
    return out;
  }
  const auto& it = request.stored;
  const bool same =
      stored->claim_id == it.claim_id && stored->token == it.token && stored->state == it.state;
  out.outcome = same ? import_outcome::already_there : import_outcome::conflict;
  return out;
}

}  // namespace v1
}  // namespace onceguard
