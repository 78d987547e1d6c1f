// One message under a lease: claimed, handled, settled.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include <onceguard/guard.hpp>
#include <onceguard/inbox.hpp>

#include "messaging/inbox_guard/handling.hpp"

namespace onceguard::messaging {

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
