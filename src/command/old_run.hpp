// A completed run that is too old to answer for its repeats.
#pragma once
#include <onceguard/command.hpp>

namespace onceguard {

/// Of a period, for the jitter of timers, and for a day of 23 hours.
[[nodiscard]] milliseconds least_period(milliseconds period) noexcept;

/// Releases the record of a completed run that is too old by the rules of this call: its own
/// retention may be longer, as it is that of the call that ran. True: the key may be claimed anew.
/// By the token, so that of several calls one releases the run, and nobody a newer one.
[[nodiscard]] result<bool> release_old_run(guard& records, const request& request,
                                           const command_rules& rules);

}  // namespace onceguard
