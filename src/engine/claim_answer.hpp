// What a claim answers without a lease.
#pragma once
#include <utility>

#include "engine/claim.hpp"

namespace onceguard {

inline claim_result answer_of(outcome_kind kind) {
  claim_result out;
  out.outcome.kind = kind;
  return out;
}

inline claim_result replay_of(answer_ptr answer, answer_kept kept) {
  auto out = answer_of(outcome_kind::replay);
  out.outcome.answer = std::move(answer);
  out.outcome.kept = kept;
  return out;
}

}  // namespace onceguard
