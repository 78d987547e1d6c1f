#include "messaging/inbox/inbox_outcome.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace onceguard {
namespace messaging {
namespace {

constexpr std::uint16_t handled_status = 200;
constexpr std::uint16_t dead_status = 422;
constexpr std::size_t reason_size_max = 4'096;

milliseconds backoff_after(std::uint32_t attempt, const inbox_policy& policy) {
  constexpr std::uint32_t doublings_max = 30;
  const auto doublings = std::min(attempt > 0 ? attempt - 1 : 0, doublings_max);
  // Compared before it is multiplied, which might overflow.
  const auto factor = std::int64_t{1} << doublings;
  return policy.backoff > policy.backoff_max / factor ? policy.backoff_max
                                                      : policy.backoff * factor;
}

}  // namespace

inbox_outcome dead(std::string reason, std::uint32_t attempt) {
  inbox_outcome out;
  out.kind = inbox_result::dead;
  out.attempt = attempt;
  out.reason = std::move(reason);
  return out;
}

inbox_outcome reused() {
  inbox_outcome out;
  out.kind = inbox_result::reused;
  out.reason = "the id belongs to an earlier message with another payload";
  return out;
}

void check(std::string_view subscriber, const inbox_policy& policy) {
  const auto refuse = [](const char* why) { throw std::invalid_argument(why); };
  if (subscriber.empty()) refuse("inbox: the subscriber has no name");
  if (policy.attempts == 0) refuse("inbox_policy: attempts is not positive");
  if (policy.backoff.count() <= 0) refuse("inbox_policy: backoff is not positive");
  if (policy.backoff_max < policy.backoff) refuse("inbox_policy: backoff_max is below backoff");
  if (policy.retention.count() <= 0) refuse("inbox_policy: retention is not positive");
  if (policy.lease.count() <= 0) refuse("inbox_policy: lease is not positive");
}

request request_of(std::string_view subscriber, const inbox_message& message,
                   const inbox_policy& policy) {
  request out{std::string(subscriber), std::string(message.id),
              policy.compare_payloads ? std::string(message.payload) : std::string()};
  out.scope_kind = "application:inbox";
  return out;
}

inbox_outcome remembered(const answer_ptr& stored) {
  if (stored != nullptr && stored->status == dead_status) return dead(stored->body);
  inbox_outcome out;
  out.kind = inbox_result::duplicate;
  return out;
}

inbox_outcome outcome_of(const verdict& refused) {
  inbox_outcome out;
  out.retry_after = std::max(refused.retry_after, milliseconds(1));
  switch (refused.kind) {
    case verdict_kind::replay:
      return remembered(refused.answer);
    case verdict_kind::mismatch:
    case verdict_kind::remake_fingerprint:
      return reused();
    case verdict_kind::unknown:
      out.kind = inbox_result::unknown;
      out.retry_after = milliseconds(0);
      out.reason = "an earlier attempt may have taken effect: " + std::string(name_of(refused.why));
      return out;
    case verdict_kind::run:
    case verdict_kind::busy:
    case verdict_kind::backoff:
    case verdict_kind::refused:
      break;
  }
  return out;
}

answer handled_answer() {
  answer out;
  out.status = handled_status;
  return out;
}

answer dead_answer(std::string_view reason) {
  answer out;
  out.status = dead_status;
  out.body = reason.substr(0, reason_size_max);
  return out;
}

inbox_outcome failure_of(std::string reason, std::uint32_t attempt, const inbox_policy& policy) {
  if (attempt >= policy.attempts) return dead(std::move(reason), attempt);
  inbox_outcome out;
  out.kind = inbox_result::failed;
  out.attempt = attempt;
  out.retry_after = backoff_after(attempt, policy);
  out.reason = std::move(reason);
  return out;
}

inbox_outcome away_of(attempt_away failed, bool blameless, const inbox_policy& policy) {
  const bool is_last = !blameless && failed.blamed > 0 && failed.blamed + 1 >= policy.attempts;
  if (is_last) return dead(std::move(failed.reason), failed.attempt);
  inbox_outcome out;
  out.kind = inbox_result::failed;
  out.away = true;
  out.blameless = blameless;
  out.attempt = failed.attempt;
  // After an outage nothing is to wait for long. A rate limiter is given more time with each.
  const auto failures = failed.blamed + (blameless ? failed.excused : 0) + 1;
  out.retry_after = backoff_after(failures, policy);
  out.reason = std::move(failed.reason);
  return out;
}

inbox_outcome handled(std::uint32_t attempt) {
  inbox_outcome out;
  out.kind = inbox_result::handled;
  out.attempt = attempt;
  return out;
}

inbox_outcome failure_of(std::uint32_t attempt, const inbox_policy& policy) {
  try {
    throw;
  } catch (const message_rejected& why) {
    return dead(why.what(), attempt);
  } catch (const std::exception& why) {
    return failure_of(why.what(), attempt, policy);
  } catch (...) {
    return failure_of("the handler threw what is no std::exception", attempt, policy);
  }
}

}  // namespace messaging

inline namespace v1 {

std::string_view name_of(inbox_result result) noexcept {
  constexpr std::array<std::string_view, inbox_results> names{
      "handled", "duplicate", "failed", "dead", "busy", "reused", "unknown"};
  return names[static_cast<std::size_t>(result)];
}

broker_reply reply_to(const inbox_outcome& outcome) noexcept {
  switch (outcome.kind) {
    case inbox_result::handled:
    case inbox_result::duplicate:
      return broker_reply::acknowledge;
    case inbox_result::failed:
    case inbox_result::busy:
      return broker_reply::give_back;
    case inbox_result::dead:
    case inbox_result::reused:
    case inbox_result::unknown:
      return broker_reply::dead_letter;
  }
  return broker_reply::give_back;
}

}  // namespace v1
}  // namespace onceguard
