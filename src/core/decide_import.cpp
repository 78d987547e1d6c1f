// Decides whether a record from another store is imported.
#include <algorithm>

#include <onceguard/decide.hpp>

#include "core/decide_rules.hpp"

namespace onceguard {

using namespace rules;

namespace {

std::int64_t ago(milliseconds length, std::int64_t now) noexcept {
  return now - std::max<std::int64_t>(length.count(), 0);
}

record imported(const imported_record& request, const instant& now) {
  record out = request.stored;
  out.deadline_lease = ago(request.lease_over, now.lease);
  out.retry_at_lease = now.lease + std::max<std::int64_t>(request.retry_after.count(), 0);
  out.claimed_at_wall = ago(request.claimed_ago, now.wall);
  out.settled_at_wall = unsettled(out) ? 0 : ago(request.settled_ago, now.wall);
  const auto left = request.retention_left.count();
  out.expires_at_wall = left == 0 ? 0 : now.wall + std::max<std::int64_t>(left, 1);
  return out;
}

}  // namespace

import_decision decide_import(const record* stored, const imported_record& request,
                              const instant& now) {
  import_decision out;
  if (stored == nullptr || expired(*stored, now)) {
    out.write = imported(request, now);
    return out;
  }
  const auto& it = request.stored;
  const bool same =
      stored->claim_id == it.claim_id && stored->token == it.token && stored->state == it.state;
  out.outcome = same ? import_outcome::already_there : import_outcome::conflict;
  return out;
}

}  // namespace onceguard
