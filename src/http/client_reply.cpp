#include "http/client_reply.hpp"

#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/octets.hpp"
#include "http/forwarded_fields.hpp"

namespace onceguard::http {
namespace {

reply refusal_of(problem which, problem_detail more = {}) {
  reply out;
  out.kind = reply_kind::refusal;
  out.which = which;
  out.more = std::move(more);
  return out;
}

reply stored_answer(const outcome& outcome) {
  const bool kept = outcome.kept == answer_kept::full || outcome.kept == answer_kept::status_only;
  if (outcome.answer == nullptr || !kept) return refusal_of(problem::answer_not_kept);
  if (auto fault = stored_answer_fault(*outcome.answer); !fault.empty()) {
    auto out = refusal_of(problem::record_unreadable);
    out.why = "its answer can't be sent: " + fault;
    return out;
  }
  reply out;
  out.kind = reply_kind::stored;
  return out;
}

reply store_failure(const outcome& outcome) {
  const auto& failure = outcome.failure;
  auto out = refusal_of(problem::store_unreachable, problem_detail(outcome.retry_after));
  if (failure.code == errc::record_unreadable) out = refusal_of(problem::record_unreadable);
  if (failure.code == errc::overloaded) out.which = problem::overloaded;
  if (failure.code != errc::store_unreachable) out.why = failure.detail;
  return out;
}

}  // namespace

reply reply_to(const outcome& outcome) {
  using enum outcome_kind;
  const problem_detail soon(milliseconds(1'000));
  switch (outcome.kind) {
    case ran:
    case unguarded:
    case granted:
      break;
    case replay:
      return stored_answer(outcome);
    case unrecorded: {
      // Only a completed operation must be recorded before its answer is sent.
      if (outcome.settled_as != settle_kind::complete) break;
      auto more = soon;
      more.detail =
          "The request was carried out, but this could not be recorded yet. Send the "
          "same request with the same key again to get its answer.";
      return refusal_of(problem::store_unreachable, std::move(more));
    }
    case superseded:
      return refusal_of(problem::outcome_unknown);
    case busy:
      return refusal_of(problem::in_progress, soon);
    case backoff:
      return refusal_of(problem::backing_off, problem_detail(outcome.retry_after));
    case mismatch: {
      problem_detail more;
      if (!outcome.other_work) {
        more.same_work = true;
        more.detail =
            "This idempotency key was used before by a request that differs, as far as is known "
            "only in who sent it or how it was written: host, account, cookie or another header, "
            "coding or order. A new key might do the same work twice. Send a retry exactly as the "
            "first time, or look at what the first request did.";
      }
      return refusal_of(problem::key_reused, std::move(more));
    }
    case unknown: {
      problem_detail more;
      if (outcome.probed) {
        more.retry_after = outcome.retry_after;
        more.retryable_by_probe = true;
      }
      return refusal_of(problem::outcome_unknown, std::move(more));
    }
    case no_room:
      return refusal_of(problem::overloaded, soon);
    case over_quota:
      return refusal_of(problem::quota_exceeded, problem_detail(outcome.retry_after));
    case store_failed:
      return store_failure(outcome);
  }
  return {};
}

outcome replay_of(cached_replay found) {
  outcome out;
  out.kind = outcome_kind::replay;
  out.answer = std::move(found.answer);
  out.kept = found.kept;
  return out;
}

request_outcome report_of(const outcome& outcome, bool ran) noexcept {
  using got = request_outcome;
  switch (outcome.kind) {
    case outcome_kind::granted:
    case outcome_kind::ran:
      return got::ran;
    case outcome_kind::replay:
      // After its own work, the application has completed the record itself, or another lease has.
      return ran ? got::ran : outcome.waited ? got::waited : got::replayed;
    case outcome_kind::unrecorded:
      return outcome.settled_as == settle_kind::complete ? got::store_failed : got::ran;
    case outcome_kind::busy:
      return got::busy;
    case outcome_kind::backoff:
      return got::backoff;
    case outcome_kind::mismatch:
      return got::mismatch;
    case outcome_kind::superseded:
      return ran ? got::ran : got::unknown;
    case outcome_kind::unknown:
      return got::unknown;
    case outcome_kind::over_quota:
      return got::refused;
    case outcome_kind::no_room:
    case outcome_kind::store_failed:
      return got::store_failed;
    case outcome_kind::unguarded:
      return got::unguarded;
  }
  return got::store_failed;
}

void log_refusal(const reply& refused, const record_id& id) {
  if (refused.why.empty()) return;
  if (refused.which == problem::record_unreadable) {
    base::log(base::event::record_unreadable,
              {{"record", base::digest_text(id)}, {"why", refused.why}});
  } else {
    base::log(base::event::store_refused, {{"why", refused.why}});
  }
}

std::string stored_answer_fault(const answer& stored) {
  if (stored.status < 200 || stored.status > 999) {
    return "its status " + std::to_string(stored.status) + " is none of a final answer";
  }
  // An application or an operator may have stored anything: a line end in a value would begin
  // another field, or another answer.
  for (const auto& [name, value] : stored.headers) {
    if (!base::is_token(name)) return "the name of a header field is malformed";
    if (!base::is_field_value(value)) return "the field " + name + " holds a control character";
    if (is_hop_by_hop(name)) {
      return "the field " + name + " belongs to a connection, not to an answer";
    }
  }
  return {};
}

}  // namespace onceguard::http
