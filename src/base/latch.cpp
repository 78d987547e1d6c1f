#include "base/latch.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::base {

namespace asio = boost::asio;

/// The entry of one waiting coroutine. The destructor removes the entry, so nothing touches the
/// io_context of a coroutine that is destroyed in the middle of its wait.
class latch::slot {
 public:
  slot(latch& event, timer_ptr timer) : latch_(event), timer_(std::move(timer)) {
    const std::lock_guard lock(latch_.mutex_);
    if (!latch_.happened_) latch_.waiting_.push_back(timer_);
  }
  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;
  ~slot() {
    const std::lock_guard lock(latch_.mutex_);
    std::erase(latch_.waiting_, timer_);
  }

 private:
  latch& latch_;
  const timer_ptr timer_;
};

void latch::happen() {
  const std::lock_guard lock(mutex_);
  happened_ = true;
  // Under the lock: each entry in the list still has its io_context.
  for (const auto& timer : waiting_) {
    asio::post(timer->get_executor(), [timer] { timer->cancel(); });
  }
  waiting_.clear();
}

bool latch::happened() const {
  const std::lock_guard lock(mutex_);
  return happened_;
}

asio::awaitable<bool> latch::wait(std::chrono::milliseconds timeout) {
  if (happened()) co_return true;
  const auto executor = co_await asio::this_coro::executor;
  const auto timer = std::make_shared<asio::steady_timer>(executor);
  timer->expires_after(timeout);
  const slot here(*this, timer);
  if (!happened()) {
    // happen() posts the cancellation to this thread's io_context, so the handler runs after
    // async_wait has begun.
    boost::system::error_code cancelled;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  co_return happened();
}

void latch::forget() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

}  // namespace onceguard::base
