// Decides what an operator's act makes of a record.
#include <memory>
#include <utility>

#include <onceguard/decide.hpp>

#include "core/decide_rules.hpp"

namespace onceguard {
inline namespace v1 {

using namespace rules;

namespace {

void complete_by_hand(record& r, const resolution& request, const instant& now) {
  end(r, record_state::completed, request.retention, now);
  r.answer = request.answer;
  r.kept = request.answer ? answer_kept::full : answer_kept::none;
}

bool holds_answer(const record& r) noexcept {
  return r.kept == answer_kept::full || r.kept == answer_kept::status_only;
}

}  // namespace

resolve_decision decide_resolution(const record* stored, const resolution& request,
                                   const instant& now, std::optional<std::int64_t> revision) {
  resolve_decision out;
  if (counts_as_absent(stored, now)) {
    out.outcome = resolve_outcome::not_found;
    return out;
  }
  if (request.token != 0 && request.token != stored->token) {
    out.outcome = resolve_outcome::changed;
    return out;
  }
  // A revision is of a look at an unsettled record. Since then its holder may have come back: it
  // renewed its lease under the same token, and may have worked, or it said that nothing took
  // effect.
  const auto present = revision.value_or(stored->deadline_lease);
  const bool came_back = request.revision && (stored->state == record_state::failed ||
                                              (unsettled(*stored) && *request.revision != present));
  if (came_back) {
    out.outcome = resolve_outcome::changed;
    return out;
  }
  // Or its holder completed.
  const bool keeps_completed = request.keep_completed || request.revision;
  if (stored->state == record_state::completed && !request.completed && keeps_completed) {
    out.outcome = resolve_outcome::already_completed;
    return out;
  }
  if (stored->state == record_state::completed && request.completed) {
    if (holds_answer(*stored) || !request.answer) {
      out.outcome = resolve_outcome::already_completed;
      return out;
    }
    // The completion and its expiry stay unchanged. Caches hold the record without an answer.
    out.write = *stored;
    out.write->answer = request.answer;
    out.write->kept = answer_kept::full;
    out.write->by_operator = true;
    out.forgets_answer = true;
    return out;
  }
  if (unsettled(*stored) && !request.force) {
    // After an answer the work is over; otherwise the work may continue until the upstream's
    // timeout.
    const bool answered =
        stored->why == unknown_reason::upstream_status && !stored->earlier_unknown;
    const auto tail = request.completed || answered ? 0 : stored->about->run_timeout.count();
    if (const auto left = after(stored->deadline_lease, milliseconds(tail)) - now.lease; left > 0) {
      out.outcome = resolve_outcome::running;
      out.retry_after = milliseconds(left);
      return out;
    }
  }
  if (request.completed) {
    out.write = *stored;
    complete_by_hand(*out.write, request, now);
  } else {
    out.forgets_answer = stored->state == record_state::completed;
    out.write = released(*stored, now);
  }
  out.write->by_operator = true;
  return out;
}

resolve_decision resolve_unreadable(const resolution& request, const instant& now, token next) {
  resolve_decision out;
  // Nobody can have seen the token of a record that can't be read.
  if (request.token != 0 || request.revision) {
    out.outcome = resolve_outcome::changed;
    return out;
  }
  record r;
  auto about =
      request.about ? std::make_shared<subject>(*request.about) : std::make_shared<subject>();
  about->print = {};
  r.about = std::move(about);
  r.token = next;
  r.claimed_at_wall = now.wall;
  out.forgets_answer = true;  // the unreadable record may have held an answer
  if (request.completed) {
    complete_by_hand(r, request, now);
    out.write = std::move(r);
  } else {
    out.write = released(r, now);
  }
  out.write->by_operator = true;
  return out;
}

}  // namespace v1
}  // namespace onceguard
