// A Boost.Beast server on one thread, with the middleware or without. `./dev bench library` loads
// both in turn.
//
//   beast_bench PORT bare|guarded
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <onceguard/beast.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::use_awaitable;
using request = beast::http::request<beast::http::string_body>;
using response = beast::http::response<beast::http::string_body>;

asio::awaitable<response> handle(const request& message) {
  response out(beast::http::status::created, message.version());
  out.keep_alive(message.keep_alive());
  out.set(beast::http::field::content_type, "application/json");
  out.body() = R"({"id":"ch_1","amount":500,"currency":"eur","status":"succeeded"})";
  out.prepare_payload();
  co_return out;
}

/// `guard`: null without the middleware.
asio::awaitable<void> serve(asio::ip::tcp::socket client,
                            const onceguard::http::middleware* guard) {
  beast::tcp_stream stream(std::move(client));
  const auto address = stream.socket().remote_endpoint().address().to_string();
  for (beast::flat_buffer buffer;;) {
    request message;
    co_await beast::http::async_read(stream, buffer, message, use_awaitable);
    const bool keep_alive = message.keep_alive();
    if (guard == nullptr) {
      auto answer = co_await handle(message);
      co_await beast::http::async_write(stream, answer, use_awaitable);
    } else {
      auto answer = co_await onceguard::beast::guarded(*guard, std::move(message), handle, address);
      co_await beast::async_write(stream, std::move(answer), use_awaitable);
    }
    if (!keep_alive) co_return;
  }
}

asio::awaitable<void> listen(unsigned short port, const onceguard::http::middleware* guard) {
  const auto io = co_await asio::this_coro::executor;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
  for (;;) {
    auto client = co_await acceptor.async_accept(use_awaitable);
    client.set_option(asio::ip::tcp::no_delay(true));
    asio::co_spawn(io, serve(std::move(client), guard), [](std::exception_ptr) {});
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string_view mode = count == 3 ? words[2] : "";
  if (mode != "bare" && mode != "guarded") {
    return std::fputs("beast_bench PORT bare|guarded\n", stderr), 2;
  }
  auto guard = onceguard::guard::open("memory:").value();
  const auto middleware = onceguard::http::middleware::make(guard, {}).value();
  asio::io_context io(1);
  asio::signal_set ends(io, SIGTERM, SIGINT);
  ends.async_wait([&io](auto, int) { io.stop(); });
  asio::co_spawn(io,
                 listen(static_cast<unsigned short>(std::atoi(words[1])),
                        mode == "guarded" ? &middleware : nullptr),
                 [](std::exception_ptr failed) {
                   if (failed) std::rethrow_exception(failed);
                 });
  io.run();
}
