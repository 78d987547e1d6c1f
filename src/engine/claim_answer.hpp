// What a claim answers without a lease.
#pragma once
#include <utility>

#include <onceguard/engine.hpp>

namespace onceguard {

inline error memory_lost(effect on_store) {
  return {errc::store_lost, "the store has lost its memory", on_store};
}

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

/// Whether twins that wait for the operation may use this outcome as theirs.
inline bool concerns_all(outcome_kind kind) noexcept {
  return kind == outcome_kind::replay || kind == outcome_kind::unknown ||
         kind == outcome_kind::backoff;
}

}  // namespace onceguard
