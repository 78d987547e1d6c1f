#include "execute/request.hpp"

#include <algorithm>
#include <memory>
#include <poll.h>
#include <stdexcept>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/clock.hpp"
#include "base/hash.hpp"

namespace onceguard {
namespace {

// The name that onceguard.claim in SQL gives to the fingerprint that an application makes.
constexpr const char* print_method = "application";

constexpr milliseconds pause_max{20};

error refuse(const char* why) { return error(errc::invalid_argument, why); }

}  // namespace

std::optional<error> complaint(const request& request, const execute_policy& policy) {
  if (request.key.empty() || request.key.size() > key_size_max) {
    return refuse("request: a key has 1 to 255 bytes");
  }
  if (policy.wait.count() < 0) return refuse("execute_policy: wait is negative");
  if (policy.retention.count() <= 0) return refuse("execute_policy: retention is not positive");
  if (policy.lease.count() <= 0) return refuse("execute_policy: lease is not positive");
  return std::nullopt;
}

claim claim_of(const request& request, const execute_policy& policy, unknown_policy unknown) {
  auto about = std::make_shared<subject>();
  about->scope = make_scope_digest(request.scope_kind, request.scope);
  about->scope_kind = request.scope_kind;
  about->key = request.key;
  about->print.method = print_method;
  about->print.value = base::sha256_of(request.fingerprint);
  claim out;
  out.id = make_record_id(about->scope, request.key);
  base::random_bytes(out.claim_id);
  out.about = std::move(about);
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
