#include "base/watchdog.hpp"

namespace onceguard::base {

void deadline::arm(watchdog& dog, std::chrono::milliseconds from_now) {
  disarm();
  // One tick more than asked: the present tick is partly over, and early is never right.
  const auto ticks = static_cast<std::uint64_t>(
      std::max<std::int64_t>(from_now.count(), 0) / watchdog::tick.count() + 2);
  const auto now = dog.ticks_now();
  if (dog.armed_ == 0) dog.turned_ = now;
  due_tick_ = now + ticks;
  slot_ = &dog.wheel_[due_tick_ % watchdog::slots];
  next_ = *slot_;
  previous_ = nullptr;
  if (next_ != nullptr) next_->previous_ = this;
  *slot_ = this;
  dog_ = &dog;
  ++dog.armed_;
  dog.schedule();
}

void deadline::disarm() noexcept {
  if (dog_ == nullptr) return;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else {
    *slot_ = next_;
  }
  if (next_ != nullptr) next_->previous_ = previous_;
  --dog_->armed_;
  dog_ = nullptr;
  previous_ = next_ = nullptr;
}

watchdog::watchdog(boost::asio::io_context& context)
    : boost::asio::execution_context::service(context),
      timer_(context),
      start_(boot_clock::now()) {}

std::uint64_t watchdog::ticks_now() const {
  return static_cast<std::uint64_t>((boot_clock::now() - start_) / tick);
}

void watchdog::schedule() {
  if (ticking_) return;
  ticking_ = true;
  timer_.expires_after(tick);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    ticking_ = false;
    if (ec) return;
    turn();
    if (armed_ != 0) schedule();
  });
}

void watchdog::turn() {
  const auto now = ticks_now();
  // After a pause longer than a turn each slot is visited once: that is all of them.
  if (now > turned_ + slots) turned_ = now - slots;
  while (turned_ < now) {
    ++turned_;
    auto*& slot = wheel_[turned_ % slots];
    // An expiring entry may arm or disarm others of this slot, so begin anew after each one.
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

void watchdog::shutdown() noexcept {
  for (auto*& slot : wheel_) {
    while (slot != nullptr) slot->disarm();
  }
}

}  // namespace onceguard::base
