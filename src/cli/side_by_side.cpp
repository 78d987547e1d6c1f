#include "cli/side_by_side.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::cli {

namespace asio = boost::asio;

asio::awaitable<void> side_by_side(std::size_t count, std::function<asio::awaitable<void>()> work) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
  std::size_t left = count;
  std::exception_ptr fault;
  const auto ended = [&](std::exception_ptr thrown) {
    if (thrown && !fault) fault = thrown;
    if (--left == 0) all_ended.cancel();
  };
  for (std::size_t i = 0; i < count; ++i) asio::co_spawn(executor, work(), ended);
  if (left > 0) {
    boost::system::error_code cancelled;
    co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace onceguard::cli
