// Leases that were granted before the machine started last.
#pragma once
#include <algorithm>
#include <cstdint>

#include <onceguard/decide.hpp>

namespace onceguard {

/// Ends the lease of a record from an earlier boot, whose clock is gone: the lease ended when the
/// machine did. The time of work that may still be under way elsewhere counts from the claim on the
/// retention clock, which stood still in between, and at the earliest from the boot: this machine
/// may have been running for long when the records came to it.
inline void end_lease_of_earlier_boot(record& stored, const instant& now) noexcept {
  const auto claimed = stored.claimed_at_wall - (now.wall - now.lease);
  stored.deadline_lease = std::clamp<std::int64_t>(claimed, 0, now.lease);
  stored.retry_at_lease = 0;
}

}  // namespace onceguard
