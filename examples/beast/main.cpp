// A payment server on Boost.Beast whose POST handlers run once for each Idempotency-Key.
//
//   payments 8080 sqlite:onceguard.db [routes.toml]
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <onceguard/beast.hpp>
#include <onceguard/http_config.hpp>

#include "../conformance/service.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::use_awaitable;
using request = beast::http::request<beast::http::string_body>;
using response = beast::http::response<beast::http::string_body>;

std::vector<std::string> payments;

asio::awaitable<response> check_conformance(const request& message) {
  auto work = conformance::begin(message.method_string(), message.target(),
                                 message["Conformance-Counter"], message["Conformance-Work"]);
  asio::steady_timer delay(co_await asio::this_coro::executor, work.delay);
  co_await delay.async_wait(use_awaitable);
  if (work.broken) throw std::runtime_error("the work ended without an answer");
  response out(beast::http::int_to_status(work.answer.status), message.version());
  out.keep_alive(message.keep_alive());
  for (const auto& [name, value] : work.answer.headers) out.insert(name, value);
  out.body() = std::move(work.answer.body);
  out.prepare_payload();
  co_return out;
}

asio::awaitable<response> handle(const request& message) {
  if (conformance::is_work(message.target())) co_return co_await check_conformance(message);
  response out(beast::http::status::ok, message.version());
  out.keep_alive(message.keep_alive());
  if (message.method() == beast::http::verb::post && message.target() == "/payments") {
    payments.push_back(message.body());
    out.result(beast::http::status::created);
    out.body() = "payment " + std::to_string(payments.size()) + ": " + message.body() + "\n";
  } else if (message.target() == "/payments") {
    for (const auto& payment : payments) out.body() += payment + "\n";
  } else {
    out.result(beast::http::status::not_found);
  }
  out.prepare_payload();
  co_return out;
}

asio::awaitable<void> serve(asio::ip::tcp::socket client,
                            const onceguard::http::middleware& middleware) {
  beast::tcp_stream stream(std::move(client));
  const auto address = stream.socket().remote_endpoint().address().to_string();
  for (beast::flat_buffer buffer;;) {
    request message;
    co_await beast::http::async_read(stream, buffer, message, use_awaitable);
    auto answer =
        co_await onceguard::beast::guarded(middleware, std::move(message), handle, address);
    const bool keep_alive = answer.keep_alive();
    co_await beast::async_write(stream, std::move(answer), use_awaitable);
    if (!keep_alive) co_return;
  }
}

asio::awaitable<void> listen(unsigned short port, const onceguard::http::middleware& middleware) {
  const auto io = co_await asio::this_coro::executor;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
  for (asio::steady_timer pause(io);;) {
    auto [failed, client] = co_await acceptor.async_accept(asio::as_tuple(use_awaitable));
    if (failed) {  // no descriptor is left: clients that leave give theirs back
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(use_awaitable);
      continue;
    }
    asio::co_spawn(io, serve(std::move(client), middleware),
                   [](std::exception_ptr) {});  // the client is gone
  }
}

int main(int count, char** words) {
  if (count < 3 || count > 4) return std::fputs("payments PORT STORE [ROUTES]\n", stderr), 2;
  auto guard = onceguard::guard::open(words[2]).value();
  auto params = conformance::params();
  if (count == 4) {
    auto config = onceguard::http::read_routes(words[3]);
    if (!config) return std::fprintf(stderr, "%s\n", config.error().detail.c_str()), 3;
    for (const auto& warning : config->warnings) std::fprintf(stderr, "%s\n", warning.c_str());
    params.routes = std::move(config->routes);
  }
  const auto middleware = onceguard::http::middleware::make(guard, std::move(params)).value();
  asio::io_context io(1);
  asio::signal_set ends(io, SIGTERM, SIGINT);
  ends.async_wait([&io](auto, int) { io.stop(); });
  asio::co_spawn(io, listen(static_cast<unsigned short>(std::atoi(words[1])), middleware),
                 [](std::exception_ptr failed) {
                   if (failed) std::rethrow_exception(failed);
                 });
  io.run();
}
