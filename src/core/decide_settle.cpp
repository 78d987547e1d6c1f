// Decides what a holder does with its lease: settles it, or renews it.
#include <algorithm>

#include <onceguard/decide.hpp>

#include "core/decide_rules.hpp"

namespace onceguard {
inline namespace v1 {

using namespace rules;

namespace {

/// Ends the lease with an unknown outcome.
void become_unknown(record& r, const settlement& request, const instant& now) {
  if (!r.earlier_unknown && request.why != unknown_reason::none) {
    r.why = request.why;
    r.why_status = request.why_status;
  }
  r.state = record_state::in_progress;
  set_deadline(r, milliseconds(0), now);
  r.retry_at_lease = after(now.lease, request.probe_pause);
}

/// The record after a settle by the holder of its lease.
record apply(const record& r, const settlement& request, const instant& now) {
  record out = r;
  switch (request.kind) {
    case settle_kind::complete:
      end(out, record_state::completed, request.retention, now);
      out.about = request.about ? request.about : r.about;
      out.answer = request.answer;
      out.kept = request.kept;
      out.why = unknown_reason::none;
      out.why_status = 0;
      out.failures = 0;
      out.earlier_unknown = false;
      out.by_application = request.by_application;
      break;
    case settle_kind::fail: {
      end(out, record_state::failed, request.retention, now);
      const auto doublings = std::min<std::uint32_t>(out.failures, 30);
      const auto first = std::max(request.backoff, milliseconds(0));
      // Shifts the maximum down instead of the first pause up, as the product may overflow.
      const bool longest = first.count() > request.backoff_max.count() >> doublings;
      const auto pause = longest ? request.backoff_max : first * (std::int64_t{1} << doublings);
      out.retry_at_lease = after(now.lease, pause);
      out.failures += 1;
      if (!out.earlier_unknown) out.why = request.why, out.why_status = request.why_status;
      break;
    }
    case settle_kind::release:
      // An earlier lease may have taken effect even if this one did not.
      if (r.earlier_unknown) {
        become_unknown(out, request, now);
      } else {
        out = released(r, now);
      }
      break;
    case settle_kind::abandon:
      // In the state `started` the work had provably not begun.
      if (r.state == record_state::started && !r.earlier_unknown) {
        out = released(r, now);
      } else {
        become_unknown(out, request, now);
      }
      break;
  }
  return out;
}

/// Rebuilds the record of a lease for a settle that no longer finds the record.
record remade(const settlement& request, const instant& now) {
  record r;
  r.about = request.about;
  r.state = record_state::in_progress;
  r.token = request.token;
  r.claim_id = request.claim_id;
  r.attempt = 1;
  r.claimed_at_wall = now.wall;
  r.incident = true;
  return r;
}

settle_decision stale(const record* r, const instant& now) {
  settle_decision out;
  out.result.outcome = settle_outcome::stale;
  if (r != nullptr) {
    out.result.state = observe(*r, now);
    out.result.answer = r->answer;
    out.result.kept = r->kept;
  }
  return out;
}

settle_decision settle_missing(const record* stored, const settlement& request,
                               const instant& now) {
  settle_decision out;
  if (request.kind == settle_kind::release) {
    const bool on_its_way = stored == nullptr || request.token == 0;
    if (!on_its_way || !request.about) return out;
    // Store the claim id, so that the claim is refused if it arrives after its release.
    auto refusing = released(remade(request, now), now);
    if (stored != nullptr) refusing.token = stored->token;
    out.write = std::move(refusing);
    return out;
  }
  out.result.outcome = settle_outcome::incident;
  out.write = apply(remade(request, now), request, now);
  return out;
}

bool settled_alike(const record& r, settle_kind kind) noexcept {
  switch (kind) {
    case settle_kind::complete:
      return r.state == record_state::completed && !r.by_operator;
    case settle_kind::fail:
      return r.state == record_state::failed;
    case settle_kind::release:
      return r.state == record_state::released;
    // An abandon leaves no state of its own behind; carried out once more, it changes nothing.
    case settle_kind::abandon:
      return false;
  }
  return false;
}

/// The holder settles a record that its application has completed in its own transaction.
settle_decision complete_again(const record& r, const settlement& request) {
  settle_decision out;
  if (!r.by_application || request.by_application) return out;
  // The record has the application's retention: a caller that copies the answer must know that.
  out.result.state = observed_state::completed;
  if (r.kept == answer_kept::none) {
    if (request.kept == answer_kept::none) return out;
    out.write = r;
    out.write->answer = request.answer;
    out.write->kept = request.kept;
  } else if (r.answer && (request.answer == nullptr || *r.answer != *request.answer)) {
    out.result.state = observed_state::completed;
    out.result.answer = r.answer;
    out.result.kept = r.kept;
  }
  return out;
}

}  // namespace

settlement settle_lease(const record_id& id, const lease& held, subject_ptr about,
                        settle_terms terms) {
  settlement out{std::move(terms), id, held.token, held.claim_id, std::move(about)};
  return out;
}

extension extend_lease(const record_id& id, const lease& held, milliseconds length, bool dispatch) {
  return {id, held.token, held.claim_id, length, dispatch};
}

settle_decision decide_settle(const record* stored, const settlement& request, const instant& now) {
  const bool by_claim_id = request.token == 0 && request.kind == settle_kind::release;
  const bool same_claim = stored != nullptr && stored->claim_id == request.claim_id &&
                          (by_claim_id || stored->token == request.token);
  if (same_claim) {
    settle_decision out;
    if (settled_alike(*stored, request.kind)) return complete_again(*stored, request);
    // The work took effect although an operator released the key: a fact is kept, whoever was
    // wrong.
    const bool released_since = stored->state == record_state::released;
    if (released_since && request.kind == settle_kind::complete && !request.by_application) {
      out.result.outcome = settle_outcome::incident;
      out.write = apply(*stored, request, now);
      out.write->incident = true;
      out.write->by_operator = false;  // completed by the holder: a repeat of this settle succeeds
      return out;
    }
    if (!unsettled(*stored)) return stale(stored, now);
    out.write = apply(*stored, request, now);
    return out;
  }
  // Before the case of a missing record: an application that learns `stale` rolls its effect back,
  // so there is nothing to rebuild a record for.
  if (request.by_application) return stale(stored, now);
  if (stored == nullptr || expired(*stored, now)) {
    // The answer of a later lease has had its time. That of an earlier one must not begin another
    // retention after it.
    const bool superseded = stored != nullptr && stored->state == record_state::completed &&
                            stored->token > request.token;
    if (superseded && request.kind != settle_kind::release) return stale(nullptr, now);
    return settle_missing(stored, request, now);
  }
  if (by_claim_id) return {};  // that claim has no lease here
  return stale(stored, now);
}

namespace {

/// retry_at_lease is set only in an unsettled record whose lease was abandoned. A renewal that was
/// under way at that time must not revive the lease.
bool abandoned(const record& r) noexcept { return r.retry_at_lease != 0; }

}  // namespace

extend_decision decide_extension(const record* stored, const extension& request,
                                 const instant& now) {
  extend_decision out;
  // That the deadline has passed is no reason to refuse: only another lease makes a holder stale.
  const bool same_claim = stored != nullptr && stored->claim_id == request.claim_id &&
                          stored->token == request.token && unsettled(*stored) &&
                          !abandoned(*stored);
  if (!same_claim) {
    out.stale = true;
    return out;
  }
  out.write = *stored;
  if (request.dispatch) {
    // The application reported no effect, and now refuses the earlier tokens.
    if (stored->state == record_state::probing) {
      out.write->earlier_unknown = false;
      out.write->why = unknown_reason::none;
      out.write->why_status = 0;
      // Another attempt begins only now: should its outcome be lost, its own age counts.
      out.write->claimed_at_wall = now.wall;
    }
    out.write->state = record_state::in_progress;
  }
  set_deadline(*out.write, request.lease, now);
  return out;
}

}  // namespace v1
}  // namespace onceguard
