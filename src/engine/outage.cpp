#include "engine/outage.hpp"

#include <chrono>

#include "base/log.hpp"

namespace onceguard {
namespace {

/// A store of which a part hangs answers some calls and fails others: one outage, not many.
constexpr std::chrono::seconds quiet{1};

}  // namespace

void outage::failed(const error& why) {
  if (why.code != errc::store_unreachable) return;
  const std::lock_guard lock(mutex_);
  last_failure_ = base::boot_now();
  first_answer_.reset();
  ++failures_;
  if (away_.exchange(true)) return;
  since_ = last_failure_;
  failures_ = 1;
  base::log(base::event::store_away, {{"store", store_name_}, {"why", why.detail}});
}

void outage::recovered() {
  const std::lock_guard lock(mutex_);
  if (!away_) return;
  const auto now = base::boot_now();
  if (!first_answer_) first_answer_ = now;
  if (now - last_failure_ < quiet) return;
  away_ = false;
  const auto lasted =
      std::chrono::duration_cast<std::chrono::milliseconds>(*first_answer_ - since_);
  base::log(base::event::store_back,
            {{"store", store_name_}, {"after_ms", lasted.count()}, {"failed", failures_}});
}

}  // namespace onceguard
