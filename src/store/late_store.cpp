#include "store/late_store.hpp"

#include "base/log.hpp"
#include "base/stoppable_wait.hpp"

namespace onceguard {
namespace {

// Reasons that change from one attempt to the next must not fill the log.
constexpr milliseconds changed_interval{5'000};

constexpr auto retry_hint =
    "it is tried again until it opens; until then guarded requests get 503, or run unguarded where "
    "store_failure = \"open\"; onceguard doctor says more";
constexpr auto damaged_hint =
    "it is not tried again: put it right as the reason says, and start the gateway again; until "
    "then guarded requests get 503, or run unguarded where store_failure = \"open\"";

}  // namespace

late_store::late_store(store_traits known, opener open, clock::time_point begun)
    : known_(std::move(known)), open_(std::move(open)), since_(begun) {}

result<std::unique_ptr<late_store>> late_store::open(store_traits known, opener open) {
  std::unique_ptr<late_store> made(
      new late_store(std::move(known), std::move(open), base::boot_now()));
  auto first = made->open_();
  if (first) {
    made->take(std::move(*first));
    return made;
  }
  if (first.error().code == errc::invalid_argument) return first.error();
  made->fail(first.error());
  made->thread_ = std::jthread(
      [&late = *made](const std::stop_token& stopping) { late.keep_trying(stopping); });
  return made;
}

void late_store::keep_trying(const std::stop_token& stopping) {
  const auto pause_until = [&](clock::time_point time) {
    const auto left = time - base::boot_now();
    return base::wait_unless(stopping, std::chrono::ceil<milliseconds>(left));
  };
  auto next = since_ + retry_interval;
  while (pause_until(next)) {
    next = base::boot_now() + retry_interval;
    if (damaged_) {
      remind(*damaged_);
      continue;
    }
    auto attempt = open_();
    if (attempt) return take(std::move(*attempt));
    fail(attempt.error());
  }
}

void late_store::take(std::unique_ptr<store> opened) {
  const std::lock_guard lock(mutex_);
  owned_ = std::move(opened);
  // Before the store can be called, so that no settle goes by unheard.
  if (listener_) owned_->on_settled(std::exchange(listener_, nullptr));
  opened_.store(owned_.get(), std::memory_order_release);
  if (!refusal_) return;
  const auto lasted = std::chrono::duration_cast<milliseconds>(base::boot_now() - since_);
  base::log(base::event::store_opened, {{"store", known_.name}, {"after_ms", lasted.count()}});
}

void late_store::fail(const error& why) {
  if (why.code == errc::store_lost) damaged_ = why;
  {
    const std::lock_guard lock(mutex_);
    refusal_ = error(errc::store_unreachable, why.detail);
  }
  remind(why);
}

/// Logs at once what is new, and again what lasts.
void late_store::remind(const error& why) {
  const auto now = base::boot_now();
  const auto pause = why.detail == logged_ ? reminder_interval : changed_interval;
  if (!logged_.empty() && now - logged_at_ < pause) return;
  logged_ = why.detail;
  logged_at_ = now;
  const auto lasted = std::chrono::duration_cast<milliseconds>(now - since_);
  base::log(base::event::store_not_opened, {{"store", known_.name},
                                            {"why", why.detail},
                                            {"for_ms", lasted.count()},
                                            {"hint", damaged_ ? damaged_hint : retry_hint}});
}

error late_store::refusal() const {
  const std::lock_guard lock(mutex_);
  return *refusal_;
}

std::optional<late_store::absence> late_store::why_not_open() const {
  if (opened() != nullptr) return std::nullopt;
  return absence{refusal().detail, since_};
}

store_traits late_store::traits() const {
  const auto* found = opened();
  return found != nullptr ? found->traits() : known_;
}

result<store*> late_store::target() const {
  if (auto* found = opened()) return found;
  return refusal();
}

void late_store::on_settled(settled_listener listener) {
  const std::lock_guard lock(mutex_);
  if (owned_) return owned_->on_settled(std::move(listener));
  listener_ = std::move(listener);
}

void late_store::stop() {
  const std::lock_guard lock(stopping_);
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  if (auto* found = opened()) return found->stop();
  const std::lock_guard guard(mutex_);
  refusal_ = error(errc::stopped, "the store was stopped");
}

}  // namespace onceguard
