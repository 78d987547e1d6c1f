#include "messaging/subscription/circuit_breaker.hpp"

#include <algorithm>

#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {

work_sign sign_of(const inbox_outcome& outcome) noexcept {
  if (outcome.away) return work_sign::target_away;
  const bool begun = outcome.attempt > 0;  // or the record answered
  switch (outcome.kind) {
    case inbox_result::handled:
      return work_sign::works;
    case inbox_result::failed:
    case inbox_result::dead:
      return begun ? work_sign::works : work_sign::store_works;
    case inbox_result::unknown:
      return begun ? work_sign::doubtful : work_sign::store_works;
    case inbox_result::duplicate:
    case inbox_result::busy:
    case inbox_result::reused:
      break;
  }
  return work_sign::store_works;
}

work_sign sign_of(const error& why) noexcept {
  // Any other error is about one message.
  const bool away = why.retryable() && why.code != errc::write_conflict;
  return away ? work_sign::store_away : work_sign::store_works;
}

bool circuit_breaker::note(work_sign sign, bool probe, time_point now) {
  const bool half_open = state_ == state::half_open;
  switch (sign) {
    case work_sign::works:
      return close();
    case work_sign::store_works:
      if (cause_ != work_sign::target_away) return close();
      if (half_open && probe) state_ = state::open;  // the next one may tell, at once
      return false;
    case work_sign::doubtful:
      // One slow message is no outage. A probe that tells nothing ends none.
      if (half_open && probe) return open(cause_, probe, now);
      return false;
    case work_sign::store_away:
    case work_sign::target_away:
      return open(sign, probe, now);
  }
  return false;
}

bool circuit_breaker::close() noexcept {
  const bool changed = state_ != state::closed;
  state_ = state::closed;
  cause_ = work_sign::works;
  pause_ = first_pause_;
  return changed;
}

bool circuit_breaker::open(work_sign cause, bool probe, time_point now) {
  const bool changed = state_ == state::closed;
  // What began before the breaker opened adds nothing.
  if (!changed && !(state_ == state::half_open && probe)) return false;
  if (!changed) pause_ = std::min(2 * pause_, retry_max);
  state_ = state::open;
  cause_ = cause;
  probe_at_ = now + pause_;
  return changed;
}

}  // namespace onceguard::messaging
