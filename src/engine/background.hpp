// Background work, whose failures are logged, never swallowed.
#pragma once
#include <algorithm>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/record.hpp>

namespace onceguard {

// Pauses between tries, and between rounds of background work.

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

/// Runs the coroutine on the executor. If the coroutine throws, `description` names it in the log.
void spawn_background(const boost::asio::any_io_executor& executor, std::string_view description,
                      boost::asio::awaitable<void> coroutine);
inline void spawn_background(boost::asio::io_context& io, std::string_view description,
                             boost::asio::awaitable<void> coroutine) {
  spawn_background(io.get_executor(), description, std::move(coroutine));
}

}  // namespace onceguard
