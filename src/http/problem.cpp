#include "http/problem.hpp"

#include <algorithm>
#include <array>

#include "http/error_forms.hpp"

namespace onceguard::http {
namespace {

constexpr std::array catalogue{
    problem_info{problem::in_progress, "in-progress", 409, "The first request is still running",
                 "A request with this idempotency key is being processed. Send the same request "
                 "again after the time in Retry-After; it then gets the first one's answer.",
                 retry_advice::same_key},
    problem_info{problem::backing_off, "backing-off", 409, "Failed, and to be tried again later",
                 "The last attempt failed and may be made again. Send the same request again "
                 "after the time in Retry-After.",
                 retry_advice::same_key},
    problem_info{problem::outcome_unknown, "outcome-unknown", 409, "The outcome is not known",
                 "An earlier request with this key may or may not have taken effect, so it is not "
                 "run again by itself. Look at what it should have done; its operator can resolve "
                 "the key.",
                 retry_advice::no},
    problem_info{problem::answer_not_kept, "answer-not-kept", 409,
                 "Done, but the answer was not kept",
                 "The request with this key took effect and will not be run again, but its answer "
                 "was not kept. Read the state of what it changed instead.",
                 retry_advice::no},
    problem_info{problem::key_reused, "key-reused", 422, "The key belongs to another request",
                 "This idempotency key was used before with a different request. Use a new key for "
                 "a new request, and send a retry exactly as the first time.",
                 retry_advice::new_key},
    problem_info{problem::key_missing, "key-missing", 400, "An idempotency key is required",
                 "Send an Idempotency-Key header with a value that is unique to this operation, "
                 "a UUID for example, and the same one with each retry.",
                 retry_advice::no},
    problem_info{problem::key_malformed, "key-malformed", 400, "The idempotency key is malformed",
                 "Send one Idempotency-Key header with 1 to 255 visible ASCII characters, best as "
                 "a quoted string.",
                 retry_advice::no},
    problem_info{problem::scope_missing, "scope-missing", 400, "It is not known whose key this is",
                 "The header or cookie that says whose idempotency key this is must be sent "
                 "exactly once.",
                 retry_advice::no},
    problem_info{problem::bad_request, "bad-request", 400, "Malformed HTTP request",
                 "The request is not well-formed HTTP/1.1.", retry_advice::no},
    problem_info{problem::request_too_large, "request-too-large", 413,
                 "The request body is too large",
                 "A request with an idempotency key may have a body up to a limit, and this one is "
                 "longer. Nothing was run.",
                 retry_advice::no},
    problem_info{problem::upstream_unreachable, "upstream-unreachable", 502,
                 "The service could not be reached",
                 "Nothing was sent to the service, so nothing happened. Send the same request "
                 "again.",
                 retry_advice::same_key},
    problem_info{problem::upstream_broken, "upstream-broken", 502,
                 "The service broke off or gave no usable answer",
                 "Whether the request took effect is not known. Sending the same request with the "
                 "same key is safe and tells what became of it.",
                 retry_advice::same_key},
    problem_info{problem::upstream_timeout, "upstream-timeout", 504,
                 "The service did not answer in time",
                 "Whether the request took effect is not known. Sending the same request with the "
                 "same key is safe and tells what became of it.",
                 retry_advice::same_key},
    problem_info{problem::store_unreachable, "store-unreachable", 503,
                 "The record of requests can't be reached",
                 "Send the same request with the same key again after the time in Retry-After.",
                 retry_advice::same_key},
    problem_info{problem::overloaded, "overloaded", 503, "No capacity at the moment",
                 "Nothing was run. Send the same request with the same key again after the time in "
                 "Retry-After.",
                 retry_advice::same_key},
    problem_info{problem::record_unreadable, "record-unreadable", 500,
                 "The record of this key can't be read",
                 "The stored record is damaged or was written by a newer version. It is never run "
                 "again by itself; tell the operator.",
                 retry_advice::no},
    problem_info{problem::request_timeout, "request-timeout", 408,
                 "The body of the request did not come in time",
                 "It stalled, or came more slowly than is allowed. Nothing was run under its key. "
                 "Send the same request again.",
                 retry_advice::same_key},
    problem_info{problem::signature_invalid, "signature-invalid", 403,
                 "The delivery is not signed by its sender",
                 "The signature is missing, or was not made with a secret of this route. Nothing "
                 "was run.",
                 retry_advice::no},
    problem_info{problem::delivery_expired, "delivery-expired", 403,
                 "The delivery was not signed just now",
                 "Its timestamp is too far from the clock here. Nothing was run. Sign it again "
                 "with the present time.",
                 retry_advice::no},
    problem_info{problem::loop_detected, "loop-detected", 508, "The request runs in a circle",
                 "An upstream leads back to a gateway that the request came through. Nothing was "
                 "run.",
                 retry_advice::no},
    problem_info{problem::replay_unchecked, "replay-unchecked", 503,
                 "It could not be checked who may have the answer",
                 "The request took effect before. The service did not say whether its answer may "
                 "be given out again. Send the same request with the same key again after the time "
                 "in Retry-After.",
                 retry_advice::same_key},
    problem_info{problem::quota_exceeded, "quota-exceeded", 429, "Too many new requests",
                 "This caller has reached its limit of new requests. Nothing was run. Send the "
                 "same request with the same key again after the time in Retry-After; requests "
                 "that were accepted before still get their answers.",
                 retry_advice::same_key},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    if (static_cast<std::size_t>(catalogue[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order());

std::uint16_t status_of(problem which, const problem_detail& more, const route_policy* policy) {
  if (more.status != 0) return more.status;
  if (policy != nullptr && which == problem::key_reused) return policy->mismatch_status;
  if (policy != nullptr && which == problem::in_progress) return policy->busy_status;
  return info_of(which).status;
}

}  // namespace

const problem_info& info_of(problem which) noexcept {
  return catalogue[static_cast<std::size_t>(which)];
}

std::string_view name_of(retry_advice advice) noexcept {
  switch (advice) {
    case retry_advice::same_key:
      return "same-key";
    case retry_advice::new_key:
      return "new-key";
    case retry_advice::no:
      break;
  }
  return "no";
}

answer problem_answer(problem which, std::string_view base, const problem_detail& more,
                      const route_policy* policy) {
  const auto& info = info_of(which);
  shown_error error;
  error.which = which;
  error.type = std::string(base).append(info.type);
  error.status = status_of(which, more, policy);
  error.title = info.title;
  error.detail = more.detail.empty() ? info.detail : std::string_view(more.detail);
  error.advice = info.advice;
  if (more.retryable_by_probe) error.advice = retry_advice::same_key;
  if (more.same_work) error.advice = retry_advice::no;
  const bool unrouted = policy == nullptr;
  answer out;
  out.status = error.status;
  write_error(out, unrouted ? error_form::problem : policy->errors,
              unrouted ? std::string_view() : policy->error_text, error);
  if (more.retry_after.count() >= 0) {
    // Whole seconds (RFC 9110 section 10.2.3), rounded up: nobody shall come too early.
    const auto seconds = std::max<std::int64_t>((more.retry_after.count() + 999) / 1000, 1);
    out.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  out.headers.emplace_back("Onceguard-Retry", name_of(error.advice));
  return out;
}

void permit_origin(answer& out, const route_policy& policy, std::string_view origin) {
  if (policy.cors.empty() || origin.empty()) return;
  const auto& listed = policy.cors;
  const bool all = std::find(listed.begin(), listed.end(), "*") != listed.end();
  // A cache must not give an answer for one page to another.
  if (!all) out.headers.emplace_back("Vary", "Origin");
  if (!all && std::find(listed.begin(), listed.end(), origin) == listed.end()) return;
  out.headers.emplace_back("Access-Control-Allow-Origin", all ? "*" : std::string(origin));
  if (!all) out.headers.emplace_back("Access-Control-Allow-Credentials", "true");
  out.headers.emplace_back("Access-Control-Expose-Headers",
                           "Retry-After, Onceguard-Retry, Stripe-Should-Retry");
}

base::event event_of(problem which) noexcept {
  switch (which) {
    case problem::upstream_unreachable:
    case problem::loop_detected:
      return base::event::upstream_unreachable;
    case problem::upstream_timeout:
      return base::event::upstream_timeout;
    case problem::upstream_broken:
      return base::event::upstream_broken;
    case problem::outcome_unknown:
      return base::event::lease_over;
    default:
      return base::event::overloaded;
  }
}

}  // namespace onceguard::http
