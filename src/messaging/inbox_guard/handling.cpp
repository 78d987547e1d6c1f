#include "messaging/inbox_guard/handling.hpp"

#include <memory>
#include <utility>

#include "messaging/inbox/inbox_outcome.hpp"

namespace onceguard::messaging {

handling not_handled(inbox_result kind, std::string reason, unknown_reason why,
                     std::uint16_t why_status) {
  handling out;
  out.kind = kind;
  out.reason = std::move(reason);
  out.why = why;
  out.why_status = why_status;
  return out;
}

inbox_outcome outcome_of(handling work, std::uint32_t attempt, const inbox_policy& policy,
                         earlier_attempts earlier) {
  if (work.kind == inbox_result::failed && !work.away) {
    const auto counted = attempt > earlier.excused ? attempt - earlier.excused : 1;
    return failure_of(std::move(work.reason), counted, policy);
  }
  if (work.kind == inbox_result::failed) {
    return away_of({std::move(work.reason), attempt, earlier.excused, earlier.blamed},
                   work.blameless, policy);
  }
  inbox_outcome out;
  out.kind = work.kind;
  out.away = work.away;
  out.attempt = attempt;
  out.reason = std::move(work.reason);
  return out;
}

settle_terms terms_of(const inbox_outcome& outcome, const handling& work,
                      const inbox_policy& policy) {
  settle_terms out;
  out.retention = policy.retention;
  switch (outcome.kind) {
    case inbox_result::failed:
      out.kind = outcome.away ? settle_kind::release : settle_kind::fail;
      out.backoff = policy.backoff;
      out.backoff_max = policy.backoff_max;
      break;
    case inbox_result::unknown:
      out.kind = settle_kind::abandon;
      out.why = work.why;
      out.why_status = work.why_status;
      break;
    case inbox_result::handled:
      out.answer = std::make_shared<const answer>(handled_answer());
      break;
    default:
      out.answer = std::make_shared<const answer>(dead_answer(outcome.reason));
  }
  return out;
}

}  // namespace onceguard::messaging
