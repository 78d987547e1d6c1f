// Leases that were granted before the machine started last.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

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

/// A record as this boot sees it.
struct record_in_boot {
  record stored;
  /// As record_view has it: the deadline that is stored, whichever boot wrote it. A boot is no
  /// renewal, and changes no record that an operator has looked at.
  std::int64_t revision = 0;
};

[[nodiscard]] inline record_in_boot seen_in_boot(record stored, bool of_this_boot,
                                                 const instant& now) noexcept {
  record_in_boot out{std::move(stored), 0};
  out.revision = out.stored.deadline_lease;
  if (!of_this_boot) end_lease_of_earlier_boot(out.stored, now);
  return out;
}

}  // namespace onceguard
