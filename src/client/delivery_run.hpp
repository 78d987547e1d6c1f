// What all ways of sending share: the attempts of one request, counted and decided.
#pragma once
#include <string>

#include <onceguard/client.hpp>

#include "base/clock.hpp"

namespace onceguard::client {
inline namespace v1 {

class delivery_run {
 public:
  /// The arguments must outlive it.
  delivery_run(const request& sent, const retry_params& params, const attempt_observer& observer)
      : params_(params), observer_(observer), repeatable_(is_repeatable(sent)) {}

  /// How long the next attempt may take; at least a millisecond.
  [[nodiscard]] milliseconds timeout() const;
  /// Decides what follows the attempt.
  retry_decision after(attempt made);
  /// Ends it where the caller wants no more of it.
  void cancel() { out_.end = ending::canceled; }
  [[nodiscard]] delivery result() && { return std::move(out_); }

 private:
  [[nodiscard]] milliseconds elapsed() const;

  const retry_params& params_;
  const attempt_observer& observer_;
  const bool repeatable_;
  const base::boot_clock::time_point begin_ = base::boot_now();
  delivery out_;
};

/// The value of the header Idempotency-Key: a String of RFC 8941.
[[nodiscard]] std::string key_field(const std::string& key);

}  // namespace v1
}  // namespace onceguard::client
