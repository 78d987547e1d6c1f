#include "aws/credential_source.hpp"

#include <algorithm>
#include <utility>

#include "aws/metadata.hpp"

namespace onceguard::aws {
namespace {

/// So long before they expire, new ones are there (Amazon: at least five minutes before).
constexpr std::int64_t renewed_before = 5 * 60'000;
constexpr std::chrono::seconds pause{10};  // after a failure

}  // namespace

credential_source::credential_source(std::string service, milliseconds timeout,
                                     const base::clock& clock)
    : service_(std::move(service)), timeout_(timeout), clock_(clock) {}

credential_source::~credential_source() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (renewing_.joinable()) renewing_.join();
}

std::int64_t credential_source::left() const { return *known_->expires_at - clock_.wall_ms(); }

bool credential_source::fresh() const {
  return known_ && !refused_ && (!known_->expires_at || left() > 0);
}

result<credentials> credential_source::current() {
  {
    const std::lock_guard lock(mutex_);
    if (fresh()) return *known_;
  }
  const std::lock_guard one(fetching_);
  {
    const std::lock_guard lock(mutex_);
    if (fresh()) return *known_;  // another thread has fetched them meanwhile
  }
  auto found = find_first();
  if (!found) return found;
  const std::lock_guard lock(mutex_);
  known_ = *found;
  refused_ = false;
  if (known_->expires_at && !renewing_.joinable() && !stopping_) {
    renewing_ = std::thread([this] { keep_renewing(); });
  }
  return found;
}

result<credentials> credential_source::find_first() {
  const auto kept = find_kept_credentials();
  if (kept.found) return *kept.found;
  const auto refused = [this](const std::string& why) {
    return error(errc::invalid_argument, "no credentials for " + service_ + ": " + why);
  };
  if (!kept.may_be_served) return refused(kept.fault);
  auto served = fetch_served_credentials(timeout_);
  if (served) return served;
  return refused(kept.fault + ", and the machine serves none (" + served.error().detail + ")");
}

void credential_source::refuse(const credentials& expired) {
  const std::lock_guard lock(mutex_);
  if (known_ && known_->expires_at && known_->key_id == expired.key_id) refused_ = true;
}

void credential_source::keep_renewing() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (const auto early = left() - renewed_before; early > 0) {
      wake_.wait_for(lock, milliseconds(std::min<std::int64_t>(early, 60'000)),
                     [this] { return stopping_; });
      continue;  // by the clock as it is then: it may have been set
    }
    lock.unlock();
    auto served = [this] {
      const std::lock_guard one(fetching_);
      return fetch_served_credentials(timeout_);
    }();
    lock.lock();
    const bool later = served && (!served->expires_at || *served->expires_at > *known_->expires_at);
    if (served) known_ = std::move(*served), refused_ = false;
    if (served && !known_->expires_at) return;
    // The machine gives the same ones until shortly before their end.
    if (!later) wake_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

}  // namespace onceguard::aws
