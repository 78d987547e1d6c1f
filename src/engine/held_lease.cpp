#include "engine/held_lease.hpp"

#include <array>

#include <boost/asio/co_spawn.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"

namespace onceguard {
inline namespace v1 {

namespace asio = boost::asio;

held_lease::held_lease(asio::io_context& io, store& records, record_id id, onceguard::lease got,
                       milliseconds length, milliseconds store_timeout, time_point claimed,
                       renewal renewed_by)
    : io_(io),
      store_(records),
      id_(id),
      lease_(got),
      length_(base::bounded(length)),
      store_timeout_(store_timeout),
      renewed_by_(renewed_by),
      counted_from_(claimed) {}

std::string held_lease::text() const {
  std::array<unsigned char, 8> number{};
  for (std::size_t i = 0; i < number.size(); ++i) {
    number[i] = static_cast<unsigned char>(lease_.token >> (8 * (7 - i)));
  }
  std::string out = "OG1-";
  out.reserve(128);
  base::append_hex(out, id_);
  out += '-';
  base::append_hex(out, number);
  out += '-';
  base::append_hex(out, lease_.claim_id);
  return out;
}

bool held_lease::begin_sending() noexcept {
  const auto passed = base::boot_now() - counted_from_.load();
  if (superseded_ || passed > length_ - length_ / 3) return false;
  auto before = stage::nothing_sent;
  // One step with the check: a shutdown that calls give_up() on another thread either sees that
  // something may have been sent, or keeps it from being sent.
  return stage_.compare_exchange_strong(before, stage::sending) || before == stage::sending;
}

bool held_lease::may_go_on() const noexcept {
  return !superseded_ && !is_given_up() && base::boot_now() - counted_from_.load() < length_;
}

milliseconds held_lease::left() const noexcept {
  if (is_lost()) return milliseconds(0);
  const auto end = counted_from_.load() + length_;
  const auto rest = std::chrono::floor<milliseconds>(end - base::boot_now());
  return std::max(rest, milliseconds(0));
}

bool held_lease::give_up() noexcept {
  auto before = stage::nothing_sent;
  if (stage_.compare_exchange_strong(before, stage::given_up)) return true;
  before = stage::sending;
  stage_.compare_exchange_strong(before, stage::broken_off);
  return stage_ == stage::given_up;
}

void held_lease::keep_renewing() {
  if (renewed_by_ == renewal::by_timer) {
    arm(base::timer_wheel::of(io_), length_ / 3);
  } else {
    next_try_ = counted_from_.load() + length_ / 3;
  }
}

void held_lease::renew_if_due() {
  if (stopped_) return;
  if (superseded_ || !may_go_on()) {
    const std::lock_guard lock(mutex_);
    lost_.request_stop();
  }
  const auto due = next_try_.load();
  const bool renewed = due != time_point{};
  if (renewed && !superseded_ && base::boot_now() >= due) expired();
}

std::stop_token held_lease::stop_when_lost() {
  const std::lock_guard lock(mutex_);
  if (!lost_.stop_possible()) lost_ = std::stop_source();
  return lost_.get_token();
}

void held_lease::expired() {
  if (renewing_ || is_given_up()) return;
  spawn_background(io_, "renew a lease", renew(shared_from_this()));
}

asio::awaitable<result<bool>> held_lease::extend(bool dispatch) {
  std::vector<extension> batch(1, extend_lease(id_, copied(), length_, dispatch));
  const auto before = base::boot_now();
  auto replies = co_await store_.extend(std::move(batch), store_timeout_);
  if (replies[0]) {
    if (*replies[0]) {
      // The store counts from when it carries the call out, which is later: this clock ends first.
      counted_from_ = before;
      if (!dispatch) ++renewals_;
    } else {
      superseded_ = true;
    }
  }
  co_return std::move(replies[0]);
}

asio::awaitable<void> held_lease::renew(std::shared_ptr<held_lease> self) {
  self->renewing_ = true;
  const auto reply = co_await self->extend(false);
  self->renewing_ = false;
  // Besides this coroutine, only the engine holds the lease. If the engine has let go of it, the
  // work is settled.
  if (self.use_count() == 1 || self->stopped_ || self->superseded_) co_return;
  if (reply) {
    self->keep_renewing();
  } else {
    base::log(base::event::lease_not_renewed, {{"why", reply.error().detail}});
    const auto soon = std::min<milliseconds>(self->length_ / 10, milliseconds(1'000));
    if (self->renewed_by_ == renewal::by_timer) {
      self->arm(base::timer_wheel::of(self->io_), soon);
    } else {
      self->next_try_ = base::boot_now() + soon;
    }
  }
}

asio::awaitable<result<bool>> held_lease::dispatch() {
  auto reply = co_await extend(true);
  if (reply && *reply) {
    const std::lock_guard lock(mutex_);  // a round of renewals may read it
    lease_.probe = false;
    lease_.started = false;
  }
  co_return std::move(reply);
}

}  // namespace v1
}  // namespace onceguard
