// Turns a request to `execute` into a claim for the state machine; the same for every database.
#pragma once
#include <chrono>
#include <optional>

#include <onceguard/execute.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What is wrong with the request or the policy; empty: nothing.
[[nodiscard]] std::optional<error> complaint(const request& request, const execute_policy& policy);

/// Makes the first claim for the request, with a new claim id.
[[nodiscard]] claim claim_of(const request& request, const execute_policy& policy,
                             unknown_policy unknown);

/// The verdict as callers get it: a fingerprint made by another method counts as another request.
[[nodiscard]] verdict as_reported(verdict reply);

/// Takes the answer that the caller's work returned. Throws std::invalid_argument for a bad status.
[[nodiscard]] answer_ptr checked(answer answer);

/// How long a call still waits for the holder of its key.
class patience {
 public:
  explicit patience(const execute_policy& policy);

  [[nodiscard]] milliseconds left() const noexcept;  ///< 0: over, or the policy does not wait
  /// Blocks the caller's thread for a short while, no longer than what is left or `useful`.
  void pause(milliseconds useful) const;

 private:
  base::boot_clock::time_point until_;
};

/// While another transaction has locked the record, nobody knows for how long.
inline constexpr milliseconds retry_after_lock{50};

}  // namespace onceguard
