// What the answers to claims and settles have in common.
#include <array>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "http/client_reply.hpp"
#include "serve/decisions.hpp"

namespace onceguard::serve {

reply_message service_problem(const std::string& base, std::uint16_t status, std::string_view type,
                              std::string_view title, std::string_view detail,
                              milliseconds retry_after) {
  reply_message out;
  out.status = status;
  out.retry_after = retry_after;
  out.object = {{"type", base + std::string(type)},
                {"title", title},
                {"status", status},
                {"detail", detail},
                {"retryable", retry_after.count() >= 0}};
  return out;
}

reply_message no_room_for_answer(const std::string& base) {
  return service_problem(base, 503, "overloaded", "No capacity at the moment",
                         "The answer finds no room. Send the same call again.",
                         milliseconds(1'000));
}

reply_message bad_request(const std::string& base, std::string_view detail) {
  return service_problem(base, 400, "bad-request", "The message can't be read", detail,
                         milliseconds(-1));
}

reply_message claim_reused(const std::string& base, std::string_view why) {
  return service_problem(
      base, 422, "claim-reused", "The claim id belongs to another claim",
      "claim: " + std::string(why) + ". Each operation takes a claim id of its own.",
      milliseconds(-1));
}

reply_message not_found(const std::string& base, std::string_view detail) {
  return service_problem(base, 404, "not-found", "There is no such resource", detail,
                         milliseconds(-1));
}

std::string_view verdict_of(const outcome& outcome) noexcept {
  switch (outcome.kind) {
    case outcome_kind::granted:
    case outcome_kind::ran:
      return "run";
    case outcome_kind::replay:
      return "replay";
    case outcome_kind::busy:
      return "busy";
    case outcome_kind::backoff:
      return "backoff";
    case outcome_kind::mismatch:
      return "mismatch";
    case outcome_kind::unknown:
    case outcome_kind::superseded:
      return "unknown";
    case outcome_kind::unguarded:
      return "unguarded";
    case outcome_kind::no_room:
    case outcome_kind::over_quota:
      return "overloaded";
    case outcome_kind::store_failed:
    case outcome_kind::unrecorded:
      break;
  }
  return outcome.failure.code == errc::overloaded ? "overloaded" : "store_failed";
}

std::string_view kept_text(answer_kept kept) noexcept {
  switch (kept) {
    case answer_kept::full:
      return "full";
    case answer_kept::status_only:
      return "status";
    case answer_kept::too_large:
    case answer_kept::streamed:
    case answer_kept::none:
      break;
  }
  return "none";
}

void put_retry(reply_message& out, const outcome& outcome) {
  switch (outcome.kind) {
    case outcome_kind::replay:
    case outcome_kind::mismatch:
      return;
    case outcome_kind::unknown:
      if (!outcome.probed) return;
      break;
    default:
      break;
  }
  out.object["retry_after_ms"] = std::max(outcome.retry_after, milliseconds(0)).count();
}

void put_outcome(reply_message& out, const outcome& outcome, const std::string& base,
                 const route_policy& policy) {
  const auto reply = http::reply_to(outcome);
  if (outcome.kind == outcome_kind::replay) out.object["kept"] = kept_text(outcome.kept);
  if (reply.kind == http::reply_kind::work) return;
  if (reply.kind == http::reply_kind::stored) return put_stored(out, "answer", outcome.answer);
  put_answer(out, "reply", http::problem_answer(reply.which, base, reply.more, &policy));
  const auto why = refusal_of(outcome);
  out.object["detail"] = why.detail;
  out.object["kind"] = name_of(why.kind);
  out.object["retryable"] = why.retryable();
}

void put_lease(reply_message& out, held_operation& held) {
  auto* const lease = held.handle();
  out.object["verdict"] = lease == nullptr ? "observe" : "run";
  out.object["operation"] = held.id;
  if (lease == nullptr) return;
  out.object["lease"] = lease->text();
  out.object["token"] = lease->lease().token;
  out.object["attempt"] = lease->lease().attempt;
  out.object["lease_ms"] = lease->left().count();
  if (held.exchange) {
    out.object["headers"] = headers_of(held.exchange->headers());
    out.object["answer_limit"] = held.exchange->answer_limit();
    return;
  }
  out.object["headers"] = headers_of({{"Onceguard-Scope", base::to_hex(lease->about().scope)},
                                      {"Onceguard-Attempt", std::to_string(lease->lease().attempt)},
                                      {"Onceguard-Token", std::to_string(lease->lease().token)},
                                      {"Onceguard-Lease", lease->text()}});
  out.object["answer_limit"] = held.policy->max_answer_body;
}

}  // namespace onceguard::serve
