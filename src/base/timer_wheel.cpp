#include "base/timer_wheel.hpp"

#include "base/for_ever.hpp"

namespace onceguard::base {

void deadline::arm(timer_wheel& wheel, std::chrono::milliseconds from_now) {
  disarm();
  if (from_now >= for_ever) return;
  // One tick more than requested: the present tick is partly over, and a deadline must not be
  // early.
  const auto ticks = static_cast<std::uint64_t>(
      std::max<std::int64_t>(from_now.count(), 0) / timer_wheel::tick.count() + 2);
  const auto now = wheel.ticks_now();
  if (wheel.armed_ == 0) wheel.turned_ = now;
  due_tick_ = now + ticks;
  slot_ = &wheel.wheel_[due_tick_ % timer_wheel::slots];
  next_ = *slot_;
  previous_ = nullptr;
  if (next_ != nullptr) next_->previous_ = this;
  *slot_ = this;
  wheel_ = &wheel;
  ++wheel.armed_;
  wheel.schedule();
}

void deadline::disarm() noexcept {
  if (wheel_ == nullptr) return;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else {
    *slot_ = next_;
  }
  if (next_ != nullptr) next_->previous_ = previous_;
  --wheel_->armed_;
  wheel_ = nullptr;
  previous_ = next_ = nullptr;
}

timer_wheel::timer_wheel(boost::asio::io_context& context)
    : boost::asio::execution_context::service(context),
      timer_(context),
      start_(boot_clock::now()) {}

std::uint64_t timer_wheel::ticks_now() const {
  return static_cast<std::uint64_t>((boot_clock::now() - start_) / tick);
}

void timer_wheel::rest() {
  if (ticking_ && armed_ == 0) timer_.cancel();
}

void timer_wheel::schedule() {
  if (ticking_) return;
  ticking_ = true;
  timer_.expires_after(tick);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    ticking_ = false;
    if (!ec) turn();
    if (armed_ != 0) schedule();
  });
}

void timer_wheel::turn() {
  const auto now = ticks_now();
  // After a pause longer than a full turn, visiting each slot once covers all entries.
  if (now > turned_ + slots) turned_ = now - slots;
  while (turned_ < now) {
    ++turned_;
    auto*& slot = wheel_[turned_ % slots];
    // An expiring entry may arm or disarm other entries of this slot, so begin again after each
    // entry.
    for (deadline* entry = slot; entry != nullptr;) {
      if (entry->due_tick_ > now) {
        entry = entry->next_;
        continue;
      }
      entry->disarm();
      entry->expired();
      entry = slot;
    }
  }
}

void timer_wheel::shutdown() noexcept {
  for (auto*& slot : wheel_) {
    while (slot != nullptr) slot->disarm();
  }
}

}  // namespace onceguard::base
