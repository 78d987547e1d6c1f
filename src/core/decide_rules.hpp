// Rules about records that claims, settles and resolutions share. Internal to the core.
#pragma once
#include <memory>
#include <utility>

#include <onceguard/decide.hpp>

#include "base/for_ever.hpp"

namespace onceguard::rules {

inline bool lease_over(const record& r, const instant& now) noexcept {
  return now.lease >= r.deadline_lease;
}

inline bool unsettled(const record& r) noexcept {
  return r.state == record_state::started || r.state == record_state::in_progress ||
         r.state == record_state::probing;
}

/// To a claim, expired and released records count as absent.
inline bool counts_as_absent(const record* r, const instant& now) noexcept {
  return r == nullptr || expired(*r, now) || r->state == record_state::released;
}

/// A time so long after another one; never wraps.
inline std::int64_t after(std::int64_t time, milliseconds duration) noexcept {
  return time + base::bounded(duration).count();
}

inline void set_deadline(record& r, milliseconds lease, const instant& now) {
  r.deadline_lease = after(now.lease, lease);
  // unknown_retention counts from the end of the lease, and so moves on with each renewal.
  r.expires_at_wall = r.unknown_retention_ms == 0
                          ? 0
                          : after(after(now.wall, lease), milliseconds(r.unknown_retention_ms));
}

inline void end(record& r, record_state state, milliseconds retention, const instant& now) {
  r.state = state;
  r.deadline_lease = now.lease;
  r.settled_at_wall = now.wall;
  r.expires_at_wall = after(now.wall, retention);
}

/// What is left of a record after a release.
inline record released(const record& r, const instant& now) {
  record out;
  auto about = std::make_shared<subject>(*r.about);
  // After a release a claim with another fingerprint may run, so the old one must not be compared.
  about->print = {};
  out.about = std::move(about);
  out.state = record_state::released;
  out.token = r.token;
  out.claim_id = r.claim_id;
  out.attempt = r.attempt;
  out.claimed_at_wall = r.claimed_at_wall;
  out.settled_at_wall = now.wall;
  out.expires_at_wall = now.wall + released_retention.count();
  out.maybe_repeated = r.maybe_repeated;
  return out;
}

}  // namespace onceguard::rules
