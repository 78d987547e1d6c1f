// Rules about records that claims and settles share. Internal to the core.
#pragma once
#include <onceguard/decide.hpp>

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

inline void set_deadline(record& r, milliseconds lease, const instant& now) {
  r.deadline_lease = now.lease + lease.count();
  r.expires_at_wall =
      r.unknown_retention_ms == 0 ? 0 : now.wall + lease.count() + r.unknown_retention_ms;
}

}  // namespace onceguard::rules
