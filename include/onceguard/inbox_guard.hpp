// The inbox for effects outside of its store: a message is claimed, handled under a lease that
// renews itself, and settled. A crash in between leaves its outcome unknown: the message is listed
// for a person or a probe, and is never handled again by itself.
#pragma once
#include <string>

#include <onceguard/guard.hpp>
#include <onceguard/inbox.hpp>

namespace onceguard {
inline namespace v1 {

/// The messages of one subscriber. Thread-safe, as its guard is, which must outlive it.
class guarded_inbox {
 public:
  /// Called with the lease, of which `running::may_go_on` tells whether it is still held.
  using handler = callable<void(const inbox_message&, running&)>;

  /// Throws std::invalid_argument for a policy whose members are not positive.
  guarded_inbox(guard& records, std::string subscriber, inbox_policy policy = {});

  /// Handles the message once. Blocks the calling thread, which runs the handler. Where the handler
  /// throws not_done, try_later or message_rejected, nothing has happened: the attempt has failed.
  /// After any other exception the outcome is unknown.
  ///
  /// @return errc::store_unreachable and other errors of the store: nothing was handled; give the
  /// message back. effect::unknown: the handler ran, and the store does not know yet; give it back,
  /// too.
  [[nodiscard]] result<inbox_outcome> process(const inbox_message& message, const handler& handle);

 private:
  guard& records_;
  const std::string subscriber_;
  const inbox_policy policy_;
  const route_policy rules_;
};

}  // namespace v1
}  // namespace onceguard
