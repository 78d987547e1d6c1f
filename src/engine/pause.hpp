// Pauses between tries, and between rounds of background work.
#pragma once
#include <algorithm>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/record.hpp>

namespace onceguard {

inline boost::asio::awaitable<void> sleep_for(milliseconds time) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(time);
  boost::system::error_code cancelled;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
}

/// The pause between retries: 100 ms, doubling up to 1 s or the caller's limit.
class retry_pause {
 public:
  static constexpr milliseconds longest{1'000};

  [[nodiscard]] milliseconds next() const noexcept { return next_; }
  boost::asio::awaitable<void> sleep(milliseconds most = longest) {
    const auto now = std::min(next_, most);
    next_ = std::min(now * 2, most);
    return sleep_for(now);
  }

 private:
  milliseconds next_{100};
};

}  // namespace onceguard
