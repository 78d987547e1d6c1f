// One message under a lease: claimed, handled, settled.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include <onceguard/guard.hpp>
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

using message_work = std::function<handling(running&)>;

/// The rules of the record of a message.
[[nodiscard]] route_policy rules_of(const inbox_policy& policy);

/// Claims the message, calls the work, and settles. `rules` are those of `policy`. The work must
/// not throw. Blocks. Errors as for guarded_inbox::process. A failed attempt while whoever does the
/// work is away is released: the message may run again at once, and only `blamed` makes it dead.
[[nodiscard]] result<inbox_outcome> process_guarded(guard& records, std::string_view subscriber,
                                                    const inbox_message& message,
                                                    const inbox_policy& policy,
                                                    const route_policy& rules,
                                                    const message_work& work,
                                                    earlier_attempts earlier = {});

}  // namespace onceguard::messaging
