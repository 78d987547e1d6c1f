#include "engine/outage.hpp"

#include <chrono>
#include <utility>

#include "base/log.hpp"

namespace onceguard {
namespace {

using std::chrono::milliseconds;

/// How long calls fail without an answer in between before the store is away.
constexpr milliseconds failing_least{500};
/// A store of which a part hangs answers some calls and fails others: one outage, not many.
constexpr milliseconds quiet{1'000};

}  // namespace

void outage::failed(const error& why, bool certain) {
  const bool full = why.code == errc::store_full;
  if (why.code != errc::store_unreachable && !full) return;
  const std::lock_guard lock(mutex_);
  last_failure_ = base::boot_now();
  first_answer_.reset();
  if (!failing_.exchange(true)) {
    first_failure_ = last_failure_;
    failures_ = 0;
  }
  ++failures_;
  if (!away_ && !certain && last_failure_ - first_failure_ < failing_least) return;
  if (full) refuses_writes(why);
  if (std::exchange(away_, true)) return;
  base::log(base::event::store_away, {{"store", store_name_}, {"why", why.detail}});
}

void outage::poll_failed(const error& why) {
  failed(why, true);
  const std::lock_guard lock(mutex_);
  if (health_.up || health_.why.empty()) health_.since_wall = begin_wall();
  health_.up = false;
  health_.why = why.detail;
}

void outage::poll_answered() {
  {
    const std::lock_guard lock(mutex_);
    health_ = {};
    health_.opened = health_.up = true;
  }
  answered(false);
}

void outage::writes_checked(const result<void>& reply) {
  if (!reply) {
    const auto& why = reply.error();
    {
      const std::lock_guard lock(mutex_);
      const bool refused = why.code == errc::store_unreachable || why.code == errc::store_full;
      // Of a store that answers no poll, the poll says why.
      if (!refused || !health_.up) return;
      refuses_writes(why);
    }
    return failed(why, true);
  }
  {
    // With little room some writes still succeed: those of the callers say more than this one.
    const std::lock_guard lock(mutex_);
    if (unwritten_ && base::boot_now() - last_failure_ < quiet) return;
    unwritten_.reset();
  }
  answered(true);
}

/// Under the mutex.
void outage::refuses_writes(const error& why) {
  if (!unwritten_) unwritten_wall_ = begin_wall();
  unwritten_ = why;
}

store_health outage::health() const {
  const std::lock_guard lock(mutex_);
  auto out = health_;
  if (!out.up || !unwritten_) return out;
  out.up = false;
  out.why = "it takes no writes: " + unwritten_->detail;
  out.since_wall = unwritten_wall_;
  return out;
}

/// When the failures began that go on now. A poll may also fail although the store is in reach.
std::int64_t outage::begin_wall() const {
  const auto now = base::boot_now();
  const auto begin = failing_ ? first_failure_ : now;
  const auto passed = std::chrono::duration_cast<milliseconds>(now - begin);
  return base::system_clock().wall_ms() - passed.count();
}

void outage::recovered(bool wrote) {
  const std::lock_guard lock(mutex_);
  if (unwritten_ && !wrote) return;
  if (!away_) {
    failing_ = false;
    return;
  }
  const auto now = base::boot_now();
  if (!first_answer_) first_answer_ = now;
  if (now - last_failure_ < quiet) return;
  failing_ = away_ = false;
  const auto lasted = std::chrono::duration_cast<milliseconds>(*first_answer_ - first_failure_);
  base::log(base::event::store_back,
            {{"store", store_name_}, {"after_ms", lasted.count()}, {"failed", failures_}});
}

}  // namespace onceguard
