#include "engine/waiting_room.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"

namespace onceguard {

namespace asio = boost::asio;

std::unique_ptr<waiting_room::place> waiting_room::enter(const record_id& id,
                                                         const asio::any_io_executor& executor) {
  if (inside_.fetch_add(1, std::memory_order_relaxed) >= waiters_max_) {
    inside_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto self = std::make_shared<waiter>(executor);
  {
    const std::lock_guard lock(mutex_);
    waiting_[id].push_back(self);
  }
  return std::make_unique<place>(*this, id, std::move(self));
}

void waiting_room::leave(const record_id& id, const waiter_ptr& who) noexcept {
  inside_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  auto& line = found->second;
  const bool was_first = !line.empty() && line.front() == who;
  std::erase(line, who);
  if (line.empty()) {
    waiting_.erase(found);
  } else if (was_first) {
    call(line.front());  // somebody has to look after the record now
  }
}

bool waiting_room::is_first(const record_id& id, const waiter_ptr& who) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  return found != waiting_.end() && found->second.front() == who;
}

void waiting_room::call(const waiter_ptr& who) {
  auto wake = [who] {
    who->called = true;
    who->timer.cancel();
  };
  asio::post(who->timer.get_executor(), std::move(wake));
}

asio::awaitable<void> waiting_room::place::wait(time_point until,
                                                std::chrono::milliseconds look_again) {
  if (!self_->called) {
    const auto soon = base::steady_now() + look_again;
    const bool first = room_.is_first(id_, self_);
    self_->timer.expires_at(first ? std::min(until, soon) : until);
    boost::system::error_code ignored;  // cancelled: called; else the time is up; both go on
    co_await self_->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  self_->called = false;
}

void waiting_room::wake_all(const record_id& id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  for (const auto& who : found->second) call(who);
}

void waiting_room::wake_one(const record_id& id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found != waiting_.end()) call(found->second.front());
}

}  // namespace onceguard
