#include <onceguard/inbox_guard.hpp>

#include "messaging/inbox/inbox_outcome.hpp"
#include "messaging/inbox_guard/guarded_message.hpp"

namespace onceguard {
namespace {

using messaging::handling;

/// What the exception that is being handled says of the work.
handling thrown() {
  handling out;
  out.kind = inbox_result::unknown;
  try {
    throw;
  } catch (const message_rejected& why) {
    out.kind = inbox_result::dead;
    out.reason = why.what();
  } catch (const not_done& why) {
    out.kind = inbox_result::failed;
    out.reason = why.what();
  } catch (const try_later& why) {
    out.kind = inbox_result::failed;
    out.reason = why.what();
  } catch (const std::exception& why) {
    out.reason = why.what();
  } catch (...) {
    out.reason = "the handler threw what is no std::exception";
  }
  return out;
}

}  // namespace

inline namespace v1 {

guarded_inbox::guarded_inbox(guard& records, std::string subscriber, inbox_policy policy)
    : records_(records),
      subscriber_(std::move(subscriber)),
      policy_(policy),
      rules_(messaging::rules_of(policy)) {
  messaging::check(subscriber_, policy_);
}

result<inbox_outcome> guarded_inbox::process(const inbox_message& message, const handler& handle) {
  messaging::guarded_message attempt(records_, subscriber_, message, policy_, rules_);
  if (auto known = attempt.claim()) return *std::move(known);
  attempt.run([&](running& run) {
    try {
      handle(message, run);
      return handling{};
    } catch (...) {
      return thrown();
    }
  });
  return attempt.settle();
}

}  // namespace v1
}  // namespace onceguard
