// Awaits a call of the engine from any executor.
#pragma once
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detail/scheduler.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard {

/// Whether it is that of an io_context which was made for one thread: io_context(1).
inline bool is_of_one_thread(const boost::asio::any_io_executor& executor) {
  namespace asio = boost::asio;
  const auto* plain = executor.target<asio::io_context::executor_type>();
  if (plain == nullptr) return false;
  return asio::use_service<asio::detail::scheduler>(plain->context()).concurrency_hint() == 1;
}

/// The engine's calls, and what they wait on, belong to a loop of one thread. Of any other executor
/// (a thread pool, a strand, a loop of several threads) the call runs on `loop`, and its caller is
/// resumed where it was. A cancellation does not reach the call there.
template <class T>
boost::asio::awaitable<T> on_one_thread(boost::asio::io_context& loop,
                                        boost::asio::awaitable<T> call) {
  namespace asio = boost::asio;
  const auto executor = co_await asio::this_coro::executor;
  if (is_of_one_thread(executor)) co_return co_await std::move(call);
  co_return co_await asio::co_spawn(
      loop, std::move(call),
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace onceguard
