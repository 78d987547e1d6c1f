#include "engine/outage.hpp"

#include <chrono>

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
  if (why.code != errc::store_unreachable) return;
  const std::lock_guard lock(mutex_);
  last_failure_ = base::boot_now();
  first_answer_.reset();
  if (!failing_.exchange(true)) {
    first_failure_ = last_failure_;
    failures_ = 0;
  }
  ++failures_;
  if (away_ || (!certain && last_failure_ - first_failure_ < failing_least)) return;
  away_ = true;
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
  answered();
}

store_health outage::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

/// When the failures began that go on now. A poll may also fail although the store is in reach.
std::int64_t outage::begin_wall() const {
  const auto now = base::boot_now();
  const auto begin = failing_ ? first_failure_ : now;
  const auto passed = std::chrono::duration_cast<milliseconds>(now - begin);
  return base::system_clock().wall_ms() - passed.count();
}

void outage::recovered() {
  const std::lock_guard lock(mutex_);
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
