#include "execute/request.hpp"

#include <algorithm>
#include <memory>
#include <poll.h>
#include <stdexcept>

#include <onceguard/fingerprint.hpp>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "core/request.hpp"

namespace onceguard {
namespace {

constexpr milliseconds pause_max{20};

error refuse_execute(const char* why) { return error(errc::invalid_argument, why); }

}  // namespace

std::optional<error> complaint(const request& request, const execute_policy& policy) {
  if (auto wrong = complaint(request)) return wrong;
  if (policy.wait.count() < 0) return refuse_execute("execute_policy: wait is negative");
  if (policy.retention.count() <= 0)
    return refuse_execute("execute_policy: retention is not positive");
  if (policy.lease.count() <= 0) return refuse_execute("execute_policy: lease is not positive");
  return std::nullopt;
}

claim claim_of(const request& request, const execute_policy& policy, unknown_policy unknown) {
  claim out;
  const auto digests = digests_of(request);
  out.about = subject_of(request, digests);
  out.id = digests.id;
  base::random_bytes(out.claim_id);
  out.lease = policy.lease;
  out.unknown = unknown;
  return out;
}

verdict as_reported(verdict reply) {
  if (reply.kind == verdict_kind::remake_fingerprint) reply.kind = verdict_kind::mismatch;
  return reply;
}

answer_ptr checked(answer stored_answer) {
  if (stored_answer.status < 100 || stored_answer.status > 999) {
    throw std::invalid_argument("execute: an answer has a status from 100 to 999");
  }
  return std::make_shared<const answer>(std::move(stored_answer));
}

patience::patience(const execute_policy& policy)
    : until_(base::boot_now() +
             (policy.on_busy == on_busy_rule::wait ? policy.wait : milliseconds(0))) {}

milliseconds patience::left() const noexcept {
  const auto rest = std::chrono::ceil<milliseconds>(until_ - base::boot_now());
  return std::max(rest, milliseconds(0));
}

void patience::pause(milliseconds useful) const {
  const auto length = std::min({left(), std::max(useful, milliseconds(1)), pause_max});
  if (length.count() > 0) ::poll(nullptr, 0, static_cast<int>(length.count()));
}

}  // namespace onceguard
