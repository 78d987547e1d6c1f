#include <exception>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/client_beast.hpp>

#include "client/beast/attempt_once.hpp"
#include "client/delivery_run.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

namespace asio = boost::asio;

/// A cancellation is a fault of the attempt, not an exception.
asio::awaitable<attempt> quiet_attempt(const request& sent, const transport_params& params,
                                       milliseconds timeout) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await attempt_once(sent, params, timeout);
}

asio::awaitable<delivery> deliver(const request& sent, const retry_params& params,
                                  const transport_params& transport,
                                  const attempt_observer& observer) {
  co_await asio::this_coro::throw_if_cancelled(false);
  delivery_run run(sent, params, observer);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto state = co_await asio::this_coro::cancellation_state;
  while (state.cancelled() == asio::cancellation_type::none) {
    auto made = co_await attempt_once(sent, transport, run.timeout());
    const auto next = run.after(std::move(made));
    if (next.end != ending::none) co_return std::move(run).result();
    if (state.cancelled() != asio::cancellation_type::none) break;
    timer.expires_after(next.wait);
    boost::system::error_code canceled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
  }
  run.cancel();
  co_return std::move(run).result();
}

}  // namespace

attempt beast_transport::send(const request& sent, milliseconds timeout,
                              const std::stop_token& stop) {
  asio::io_context loop(1);
  asio::cancellation_signal signal;
  attempt out;
  std::exception_ptr thrown;
  asio::co_spawn(
      loop, quiet_attempt(sent, params_, timeout),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure, attempt made) {
        thrown = std::move(failure);
        out = std::move(made);
      }));
  const std::stop_callback stopped(
      stop, [&] { asio::post(loop, [&] { signal.emit(asio::cancellation_type::terminal); }); });
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return out;
}

asio::awaitable<result<delivery>> async_send(request sent, retry_params params,
                                             transport_params transport,
                                             attempt_observer observer) {
  if (auto checked = check(sent); !checked) co_return std::move(checked).error();
  if (auto checked = check(params); !checked) co_return std::move(checked).error();
  // The limits of a stream run beside its reads and writes.
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  auto run = deliver(sent, params, transport, observer);
  co_return co_await asio::co_spawn(strand, std::move(run), asio::use_awaitable);
}

}  // namespace v1
}  // namespace onceguard::client
