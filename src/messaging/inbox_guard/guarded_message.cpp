#include "messaging/inbox_guard/guarded_message.hpp"

#include <algorithm>

#include <onceguard/key.hpp>

#include "messaging/inbox/inbox_outcome.hpp"

namespace onceguard::messaging {
namespace {

constexpr milliseconds soon{1'000};

inbox_outcome again_after(milliseconds wait) {
  inbox_outcome out;
  out.kind = inbox_result::busy;
  out.retry_after = std::max(wait, milliseconds(1));
  return out;
}

/// The outcome of a claim without a lease, or of a settle that does not count.
result<inbox_outcome> without_lease(const outcome& got) {
  inbox_outcome out;
  switch (got.kind) {
    case outcome_kind::replay:
      return remembered(got.answer);
    case outcome_kind::mismatch: {
      verdict refused;
      refused.kind = verdict_kind::mismatch;
      return outcome_of(refused);
    }
    case outcome_kind::unknown:
      out.kind = inbox_result::unknown;
      out.reason = "an earlier attempt may have taken effect";
      return out;
    case outcome_kind::store_failed:
      return got.failure;
    case outcome_kind::no_room:
      return error(errc::overloaded, "inbox: no memory is left");
    case outcome_kind::unrecorded:
      return error(errc::store_unreachable, "inbox: the store does not know the outcome yet",
                   effect::unknown);
    case outcome_kind::superseded:
      return again_after(soon);  // the attempt that has the record now tells
    default:
      return again_after(got.retry_after);
  }
}

}  // namespace

route_policy rules_of(const inbox_policy& policy) {
  route_policy out;
  out.lease = policy.lease;
  out.retention = policy.retention;
  out.backoff = policy.backoff;
  out.backoff_max = policy.backoff_max;
  return out;
}

std::optional<result<inbox_outcome>> guarded_message::claim() {
  if (message_.id.empty() || message_.id.size() > key_size_max) {
    inbox_outcome out;
    out.kind = inbox_result::dead;
    out.reason = fault_of_id(message_.id);
    return out;
  }
  auto begun = records_.claim(request_of(subscriber_, message_, policy_), rules_);
  if (!begun.lease) return without_lease(begun.outcome);
  lease_.emplace(std::move(*begun.lease));
  return std::nullopt;
}

void guarded_message::run(const message_work& work) {
  running given(*lease_);
  done_ = work(given);
}

result<inbox_outcome> guarded_message::settle(earlier_attempts earlier) {
  auto out = outcome_of(done_, lease_->lease().attempt, policy_, earlier);
  const auto ended = records_.settle(std::move(*lease_), terms_of(out, done_, policy_));
  if (ended.kind != outcome_kind::ran) return without_lease(ended);
  return out;
}

}  // namespace onceguard::messaging
