#include "engine/waiting_room.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr std::size_t prefix_bytes = 8;

/// The lowest id that begins with `prefix`.
record_id lowest_with(std::uint64_t prefix) {
  record_id out{};
  for (std::size_t i = prefix_bytes; i-- > 0; prefix >>= 8) {
    out[i] = static_cast<unsigned char>(prefix & 0xff);
  }
  return out;
}

bool same_prefix(const record_id& a, const record_id& b) {
  return std::equal(a.begin(), a.begin() + prefix_bytes, b.begin());
}

}  // namespace

std::unique_ptr<waiting_room::ticket> waiting_room::enter(const record_id& id,
                                                          const asio::any_io_executor& executor) {
  // Counted first and checked then: two that enter at once can't both take the last place.
  if (inside_.fetch_add(1, std::memory_order_relaxed) >= waiters_max_) {
    inside_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto self = std::make_shared<waiter>(executor);
  {
    const std::lock_guard lock(mutex_);
    waiting_[id].push_back(self);
  }
  return std::make_unique<ticket>(*this, id, std::move(self));
}

void waiting_room::leave(const record_id& id, const waiter_ptr& waiting) noexcept {
  inside_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  auto& queue = found->second;
  const bool was_first = !queue.empty() && queue.front() == waiting;
  std::erase(queue, waiting);
  if (queue.empty()) {
    waiting_.erase(found);
    // The new first waiter has to poll the store now.
  } else if (was_first) {
    call(queue.front());
  }
}

bool waiting_room::is_first(const record_id& id, const waiter_ptr& waiting) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  return found != waiting_.end() && found->second.front() == waiting;
}

void waiting_room::call(const waiter_ptr& waiting) {
  auto wake = [waiting] {
    waiting->called = true;
    waiting->timer.cancel();
  };
  asio::post(waiting->timer.get_executor(), std::move(wake));
}

void waiting_room::poll(const record_id& id) {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found != waiting_.end()) call(found->second.front());
}

void waiting_room::poll_by_prefix(const std::vector<std::uint64_t>& prefixes) {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  for (const auto prefix : prefixes) {
    const auto lowest = lowest_with(prefix);
    for (auto position = waiting_.lower_bound(lowest);
         position != waiting_.end() && same_prefix(position->first, lowest); ++position) {
      call(position->second.front());
    }
  }
}

void waiting_room::announce(const record_id& id, const twin_outcome_ptr& outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  for (const auto& owner : found->second) {
    auto wake = [owner, outcome] {
      owner->announced = outcome;
      owner->timer.cancel();
    };
    asio::post(owner->timer.get_executor(), std::move(wake));
  }
}

asio::awaitable<waiting_room::ticket::woken> waiting_room::ticket::wait(
    time_point until, std::chrono::milliseconds twin_poll) {
  bool polls = self_->called;
  if (!polls && !self_->announced) {
    polls = first();
    const auto now = base::boot_now();
    self_->timer.expires_after((polls ? std::min(until, now + twin_poll) : until) - now);
    // Cancelled if called or announced; otherwise the time is up.
    boost::system::error_code ignored;
    co_await self_->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    polls = polls || self_->called;
  }
  announced_ = std::exchange(self_->announced, nullptr);
  if (announced_) co_return woken::announced;
  self_->called = false;
  co_return polls ? woken::to_poll : woken::late;
}

}  // namespace onceguard
