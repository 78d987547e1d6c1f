// What all ways of sending share: the attempts of one request, counted and decided.
#pragma once
#include <string>

#include <onceguard/client.hpp>

#include "base/clock.hpp"

namespace onceguard::client {
inline namespace v1 {

/// With durations that can be added.
[[nodiscard]] retry_params bounded(retry_params params);

class delivery_run {
 public:
  /// The observer must outlive it.
  delivery_run(const request& sent, const retry_params& params, const attempt_observer& observer)
      : params_(bounded(params)), observer_(observer) {
    state_.repeatable = is_repeatable(sent);
    state_.safe = is_safe(sent);
    state_.in_doubt = sent.maybe_sent_before && !state_.safe;
  }

  /// How long the next attempt may take; at least a millisecond.
  [[nodiscard]] milliseconds timeout() const;
  /// Decides what follows the attempt.
  retry_decision after(attempt made);
  /// Ends it where the caller wants no more of it.
  void cancel() { out_.end = ending::canceled; }
  [[nodiscard]] delivery result() && { return std::move(out_); }

 private:
  [[nodiscard]] milliseconds elapsed() const;

  const retry_params params_;
  const attempt_observer& observer_;
  retry_state state_;
  const base::boot_clock::time_point begin_ = base::boot_now();
  delivery out_;
};

/// The value of the header Idempotency-Key: a String of RFC 8941.
[[nodiscard]] std::string key_field(const std::string& key);

}  // namespace v1
}  // namespace onceguard::client
