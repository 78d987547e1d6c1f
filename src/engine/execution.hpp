// What became of an operation.
#pragma once
#include <cstdint>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

enum class execution_kind : std::uint8_t {
  ran,         ///< the work ran and is settled: its own answer goes out
  stored,      ///< the stored answer goes out (null: it took effect, but it was not kept)
  unsure,      ///< it ran, but another has the word now and its outcome is unknown
  unrecorded,  ///< it ran, but the store could not be told within settle_wait; told later
  busy,
  backoff,
  mismatch,
  unknown,
  no_room,       ///< for the answer: nothing was claimed
  store_failed,  ///< `failure` says how; nothing ran
  unguarded,     ///< ran without a record, as the route asked
};

struct execution {
  execution_kind kind = execution_kind::busy;
  settle_kind settled_as = settle_kind::complete;  ///< ran
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
  milliseconds retry_after{1'000};
  bool probed = false;  ///< unknown: asked about again at a later repeat
  error failure;
};

}  // namespace onceguard
