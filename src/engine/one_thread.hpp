// Where a coroutine may call a store: on a loop that one thread runs.
#pragma once
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard {

/// Whether the executor is that of an io_context(1), whose owner promises that one thread runs it.
/// The executor of a pool, of a strand, or of an io_context without the promise is none.
[[nodiscard]] bool is_of_one_thread(const boost::asio::any_io_executor& executor);

/// Awaits `call` on the caller's own loop if one thread runs that loop, otherwise on `loop`; the
/// caller is resumed on its own executor. Stores and timers expect one thread.
template <class T>
boost::asio::awaitable<T> on_one_thread(boost::asio::io_context& loop,
                                        boost::asio::awaitable<T> call) {
  namespace asio = boost::asio;
  const auto executor = co_await asio::this_coro::executor;  // gcc 12 miscompiles it in a condition
  if (is_of_one_thread(executor)) co_return co_await std::move(call);
  // A cancellation would come from another thread. It is not passed on.
  co_return co_await asio::co_spawn(
      loop, std::move(call),
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace onceguard
