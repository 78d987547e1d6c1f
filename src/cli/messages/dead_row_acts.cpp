#include "cli/messages/dead_row_acts.hpp"

#include "core/kept_key.hpp"

namespace onceguard::cli::messages {
namespace {

row_end end_of(const result<bool>& changed) {
  if (!changed) {
    const bool nothing = changed.error().effect == effect::none;
    return {"failed", changed.error().detail + (nothing ? "; nothing was changed"
                                                        : "; it is not known whether it was "
                                                          "changed: look again")};
  }
  if (!*changed) return {"changed", "it is not as it was seen, or a consumer holds it"};
  return {"done", {}};
}

}  // namespace

row_end change_row(relay::dead_rows& outbox, const std::string& relay_name,
                   const relay::dead_row& seen, bool retries, audit_log& log,
                   const audit_author& author) {
  audited_change change;
  change.action = retries ? "retry" : "drop";
  change.key = core::kept_key(seen.message_id);
  change.former = "dead";
  change.wanted = retries ? "waiting" : "dropped";
  change.about = "row " + std::to_string(seen.number) + " of the outbox of " + relay_name;
  if (const auto line = log.intend(author, change); !line) {
    return {"failed", line.error().detail + "; nothing was changed"};
  }
  auto out = end_of(retries ? outbox.revive(seen) : outbox.drop(seen));
  const auto outcome = out.detail.empty() ? std::string(out.outcome) : out.detail;
  if (const auto line = log.conclude(author, change, outcome); !line) {
    out.detail += (out.detail.empty() ? "" : "; ") + line.error().detail + "; it was: " + outcome;
    out.outcome = "failed";
  }
  return out;
}

}  // namespace onceguard::cli::messages
