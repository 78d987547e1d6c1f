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
