#include <array>

#include <onceguard/execution.hpp>

#include "store/record_errors.hpp"

namespace onceguard {
inline namespace v1 {

std::string_view name_of(refusal_kind kind) noexcept {
  constexpr std::array<std::string_view, 11> names{
      "busy",       "backoff",         "mismatch",
      "unknown",    "answer-not-kept", "answer-unreadable",
      "unrecorded", "superseded",      "store-failed",
      "overloaded", "invalid-request"};
  return names[static_cast<std::size_t>(kind)];
}

bool refusal::retryable() const noexcept {
  switch (kind) {
    case refusal_kind::busy:
    case refusal_kind::backoff:
    case refusal_kind::unrecorded:
    case refusal_kind::superseded:
    case refusal_kind::overloaded:
      return true;
    case refusal_kind::unknown:
      return retry_after.count() > 0;  // a later repeat asks the application again
    case refusal_kind::store_failed:
      return cause && cause->retryable();
    case refusal_kind::mismatch:
    case refusal_kind::answer_not_kept:
    case refusal_kind::answer_unreadable:
    case refusal_kind::invalid_request:
      return false;
  }
  return false;
}

namespace {

refusal refuse(refusal_kind kind, std::string detail) {
  refusal out;
  out.kind = kind;
  out.detail = std::move(detail);
  return out;
}

refusal refuse_for_now(refusal_kind kind, milliseconds retry_after, std::string detail) {
  auto out = refuse(kind, std::move(detail));
  out.retry_after = retry_after;
  return out;
}

refusal store_refused(const outcome& outcome) {
  using enum refusal_kind;
  const auto& why = outcome.failure;
  if (hides_answer(why)) return onceguard::answer_unreadable(why);
  const auto kind = why.code == errc::invalid_argument ? invalid_request
                    : why.code == errc::overloaded     ? overloaded
                                                       : store_failed;
  auto out = refuse_for_now(kind, outcome.retry_after, why.detail + "; nothing was run");
  out.cause = why;
  return out;
}

}  // namespace

refusal answer_unreadable(error why) {
  auto out = refuse(refusal_kind::answer_unreadable,
                    "the operation took effect, and its answer can't be read: " + why.detail);
  out.cause = std::move(why);
  return out;
}

refusal refusal_of(const outcome& outcome) {
  using enum refusal_kind;
  switch (outcome.kind) {
    case outcome_kind::replay:
      return refuse(answer_not_kept, "the operation took effect, and its answer was not kept");
    case outcome_kind::busy:
      return refuse_for_now(busy, outcome.retry_after, "the same operation is running");
    case outcome_kind::backoff:
      return refuse_for_now(backoff, outcome.retry_after,
                            "the last attempt failed; it may be tried again later");
    case outcome_kind::mismatch:
      return refuse(mismatch, "the key was used with another fingerprint");
    case outcome_kind::unknown:
      return refuse_for_now(unknown, outcome.probed ? outcome.retry_after : milliseconds(0),
                            "it is unknown whether an earlier attempt took effect");
    case outcome_kind::no_room:
      return refuse_for_now(overloaded, outcome.retry_after,
                            "no memory is left to keep an answer in; nothing was run");
    case outcome_kind::over_quota:
      return refuse_for_now(overloaded, outcome.retry_after,
                            "the scope is over its quota of new operations; nothing was run");
    case outcome_kind::unrecorded:
      return refuse_for_now(unrecorded, outcome.retry_after,
                            "the operation ran, and the store can't be told yet; send the same "
                            "request again to get its answer");
    case outcome_kind::superseded:
      return refuse_for_now(superseded, outcome.retry_after,
                            "the operation ran for longer than its lease, and another attempt "
                            "began meanwhile");
    case outcome_kind::store_failed:
    case outcome_kind::granted:
    case outcome_kind::ran:
    case outcome_kind::unguarded:
      break;
  }
  return store_refused(outcome);
}

}  // namespace v1
}  // namespace onceguard
