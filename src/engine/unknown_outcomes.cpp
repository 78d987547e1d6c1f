#include "engine/unknown_outcomes.hpp"

#include <cstring>

#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard {

void unknown_outcomes::settled(const settlement& request, const onceguard::settled& reply,
                               const subject* about, std::string_view upstream) {
  if (request.kind != settle_kind::abandon || reply.outcome == settle_outcome::stale) return;
  // The record was unknown before the application was asked.
  if (request.why == unknown_reason::probe_inconclusive) return;
  details seen;
  if (about != nullptr) seen.route = about->route;
  seen.why = request.why;
  seen.upstream = upstream;
  if (request.why == unknown_reason::upstream_status) seen.upstream_status = request.why_status;
  log(request.id, seen);
}

void unknown_outcomes::met(const operation& op, const verdict& found) {
  if (found.why != unknown_reason::holder_gone) return;
  details seen;
  seen.route = op.about->route;
  seen.why = found.why;
  seen.upstream = op.upstream;
  log(op.id, seen);
}

void unknown_outcomes::began(const record_id& id) noexcept { logged_.forget(mark_of(id)); }

unknown_outcomes::mark unknown_outcomes::mark_of(const record_id& id) noexcept {
  mark out = 0;
  std::memcpy(&out, id.data(), sizeof out);
  return out;
}

void unknown_outcomes::log(const record_id& id, const details& seen) {
  if (logged_.exchange(mark_of(id), 0)) return;
  counters_.became_unknown[static_cast<std::size_t>(seen.why)].fetch_add(1,
                                                                         std::memory_order_relaxed);
  base::log(base::event::outcome_unknown, {{"route", seen.route},
                                           {"reason", name_of(seen.why)},
                                           {"record", base::digest_text(id)},
                                           {"upstream", seen.upstream},
                                           {"upstream_status", seen.upstream_status}});
}

}  // namespace onceguard
