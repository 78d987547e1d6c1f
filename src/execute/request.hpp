// What `execute` is asked for, as the state machine knows it; the same in every database.
#pragma once
#include <chrono>
#include <optional>

#include <onceguard/execute.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What is wrong with it.
[[nodiscard]] std::optional<error> complaint(const request& request, const execute_policy& policy);

/// A first attempt to claim it, with a claim id of its own.
[[nodiscard]] claim claim_of(const request& request, const execute_policy& policy,
                             unknown_policy unknown);

/// As callers are told it: a fingerprint of another kind is another request.
[[nodiscard]] verdict as_reported(verdict reply);

/// Takes what the caller's work returned; throws std::invalid_argument where it is no answer.
[[nodiscard]] answer_ptr checked(answer answer);

/// How long a call still waits for whoever has its key.
class patience {
 public:
  explicit patience(const execute_policy& policy);

  [[nodiscard]] milliseconds left() const noexcept;  ///< 0: it is over, or there never was any
  /// Holds the caller's thread up for a short while, no longer than is left or `useful`.
  void pause(milliseconds useful) const;

 private:
  base::boot_clock::time_point until_;
};

/// While another transaction has the record: nobody knows for how long.
inline constexpr milliseconds retry_after_lock{50};

}  // namespace onceguard
