// One message under a lease: claimed, handled, settled.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
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

/// One attempt at a message. Blocks. What it is given must outlive it.
class guarded_message {
 public:
  /// `rules` are those of `policy`.
  guarded_message(guard& records, std::string_view subscriber, const inbox_message& message,
                  const inbox_policy& policy, const route_policy& rules)
      : records_(records),
        subscriber_(subscriber),
        message_(message),
        policy_(policy),
        rules_(rules) {}

  /// Nullopt: it is to be run. Otherwise what its record says of it, or why it was not claimed:
  /// errors as for guarded_inbox::process.
  [[nodiscard]] std::optional<result<inbox_outcome>> claim();
  /// Calls the work, which must not throw.
  void run(const message_work& work);
  /// Records what the work came to. A failed attempt while whoever does the work is away is
  /// released: the message may run again at once, and only `blamed` makes it dead.
  [[nodiscard]] result<inbox_outcome> settle(earlier_attempts earlier = {});

 private:
  guard& records_;
  const std::string_view subscriber_;
  const inbox_message& message_;
  const inbox_policy& policy_;
  const route_policy& rules_;
  std::optional<lease_handle> lease_;
  handling done_;
};

}  // namespace onceguard::messaging
