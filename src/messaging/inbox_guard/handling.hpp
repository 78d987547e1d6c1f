// What the work on a message came to, and what follows for the message and its record.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/decide.hpp>
#include <onceguard/inbox.hpp>

namespace onceguard::messaging {

/// What the work on a message came to.
struct handling {
  /// handled, failed (provably nothing happened), dead (the same, for good) or unknown.
  inbox_result kind = inbox_result::handled;
  std::string reason;                              ///< of all but handled
  unknown_reason why = unknown_reason::abandoned;  ///< unknown
  std::uint16_t why_status = 0;                    ///< unknown: the status that is the reason
  bool away = false;       ///< failed, unknown: whoever does the work is out of reach
  bool blameless = false;  ///< of `away`: and it is never the message's fault
};

/// What became of earlier attempts, besides what the record knows.
struct earlier_attempts {
  std::uint32_t excused = 0;  ///< don't count
  std::uint32_t blamed = 0;   ///< count, though who does the work seemed to be away
};

/// Of work that did not succeed.
[[nodiscard]] handling not_handled(inbox_result kind, std::string reason,
                                   unknown_reason why = unknown_reason::abandoned,
                                   std::uint16_t why_status = 0);

/// The outcome of an attempt whose work came to this.
[[nodiscard]] inbox_outcome outcome_of(handling work, std::uint32_t attempt,
                                       const inbox_policy& policy, earlier_attempts earlier);
/// How its lease ends.
[[nodiscard]] settle_terms terms_of(const inbox_outcome& outcome, const handling& work,
                                    const inbox_policy& policy);

}  // namespace onceguard::messaging
