#include "store/tiered/circuit_breaker.hpp"

#include "base/log.hpp"

namespace onceguard::tiered {
namespace {

constexpr std::uint32_t failures_most = 3;  // in a row …
constexpr milliseconds failures_within{10'000};

}  // namespace

trust circuit_breaker::trust_at(time_point time) const {
  if (open_since_) return trust::tripped;
  if (!epoch_) return trust::no_epoch;
  if (time - accelerator_answered_at_ > trusted_) return trust::stale;
  return time - truth_answered_at_ > trusted_ ? trust::truth_away : trust::fresh;
}

std::optional<trusted_epoch> circuit_breaker::epoch_at(time_point time) const {
  const std::lock_guard lock(mutex_);
  trusted_epoch out;
  switch (trust_at(time)) {
    case trust::tripped:
    case trust::no_epoch:
    case trust::stale:
      return std::nullopt;
    case trust::truth_away:
      if (!without_truth_) return std::nullopt;
      out.busy = false;
      break;
    case trust::fresh:
      out.busy = true;
      break;
  }
  out.epoch = *epoch_;
  return out;
}

std::uint64_t circuit_breaker::ticket() const {
  const std::lock_guard lock(mutex_);
  return distrusts_;
}

bool circuit_breaker::both_answered(std::uint64_t ticket, const digest& epoch,
                                    std::uint64_t forgotten, time_point asked_at) {
  const std::lock_guard lock(mutex_);
  if (ticket != distrusts_) return false;
  epoch_ = epoch;
  forgotten_ = forgotten;
  truth_answered_at_ = accelerator_answered_at_ = asked_at;
  return true;
}

void circuit_breaker::accelerator_answered(std::uint64_t ticket, time_point asked_at) {
  const std::lock_guard lock(mutex_);
  if (ticket == distrusts_) accelerator_answered_at_ = asked_at;
}

void circuit_breaker::distrust_now() {
  const std::lock_guard lock(mutex_);
  ++distrusts_;
  epoch_.reset();
}

bool circuit_breaker::note_vitals(const vitals& vitals) {
  const std::lock_guard lock(mutex_);
  const bool moved = reported_ && (reported_->identity != vitals.identity ||
                                   reported_->forgotten != vitals.forgotten ||
                                   vitals.generation < reported_->generation);
  const bool differs = epoch_ && forgotten_ != vitals.forgotten;
  // A poll that is on its way now may have read what was there before these vitals.
  const bool first = !reported_ && !epoch_;
  reported_ = vitals;
  if (!moved && !differs && !first) return false;
  ++distrusts_;
  epoch_.reset();
  return true;
}

void circuit_breaker::call_succeeded() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
}

void circuit_breaker::call_failed(const std::string& why, time_point time) {
  counters_.failures.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    if (failures_ == 0 || time - first_failure_ > failures_within) {
      failures_ = 0;
      first_failure_ = time;
    }
    if (++failures_ < failures_most || open_since_) return;
    open_since_ = time;
  }
  counters_.outages.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::accelerator_away, {{"why", why}});
}

void circuit_breaker::poll_succeeded(time_point time) {
  milliseconds lasted{0};
  {
    const std::lock_guard lock(mutex_);
    failures_ = 0;
    if (!open_since_) return;
    lasted = std::chrono::duration_cast<milliseconds>(time - *open_since_);
    open_since_.reset();
  }
  base::log(base::event::accelerator_back, {{"after_ms", lasted.count()}});
}

}  // namespace onceguard::tiered
