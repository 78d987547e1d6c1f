#include "http1/client/exchange.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/rethrow.hpp"
#include "http1/message.hpp"

namespace onceguard::http1 {

namespace asio = boost::asio;
using boost::system::error_code;
using stream = asio::generic::stream_protocol;

namespace {

constexpr std::size_t answer_size_max = 64u << 20;

/// One exchange over a connection of its own.
class connection {
 public:
  connection(asio::io_context& io, const gateway::admin_address& address)
      : io_(io), address_(address), socket_(io) {}

  asio::awaitable<void> run(std::string_view method, std::string_view request) {
    error_code failed;
    co_await connect(failed);
    if (failed) co_return fail(errc::not_found, failed.message());
    // A server may answer and close before it has read everything: the answer counts.
    error_code broken_off;
    co_await asio::async_write(socket_, asio::buffer(request),
                               asio::redirect_error(asio::use_awaitable, broken_off));
    co_await read(method);
  }

  result<answer> outcome = error(errc::not_found, "no answer in time");

 private:
  void fail(errc code, const std::string& why) { outcome = error(code, why); }

  asio::awaitable<void> connect(error_code& failed) {
    if (address_.is_socket()) {
      const stream::endpoint endpoint{asio::local::stream_protocol::endpoint(address_.socket_path)};
      co_return co_await socket_.async_connect(endpoint,
                                               asio::redirect_error(asio::use_awaitable, failed));
    }
    asio::ip::tcp::resolver resolver(io_);
    const auto found =
        resolver.resolve(address_.tcp.host, std::to_string(address_.tcp.port), failed);
    for (const auto& one : found) {
      error_code ignored;
      socket_.close(ignored);
      co_await socket_.async_connect(stream::endpoint(one.endpoint()),
                                     asio::redirect_error(asio::use_awaitable, failed));
      if (!failed) co_return;
    }
  }

  asio::awaitable<void> read(std::string_view method) {
    http1::reader reader(http1::reader::kind::answer, http1::limits{});
    reader.answers_to(method);
    answer received;
    for (;;) {
      auto step = reader.next();
      if (step == progress::need_more) {
        const auto room = reader.prepare(16u << 10);
        error_code failed;
        const auto size =
            co_await socket_.async_read_some(asio::buffer(room.data(), room.size()),
                                             asio::redirect_error(asio::use_awaitable, failed));
        if (!failed) {
          reader.commit(size);
          continue;
        }
        step = reader.end_of_input();
        if (step == progress::need_more) co_return fail(errc::conflict, "no answer came");
      }
      if (step == progress::error) co_return fail(errc::conflict, "no HTTP answer came");
      if (step == progress::head) take_head(reader.head(), received);
      if (step == progress::body) received.body += reader.body();
      if (received.body.size() > answer_size_max)
        co_return fail(errc::conflict, "a long answer came");
      if (step != progress::end) continue;
      if (received.status >= 200 || received.status == 101) break;
      reader.reset();
    }
    outcome = std::move(received);
  }

  static void take_head(const head& source, answer& received) {
    received.status = source.status;
    received.fields.clear();
    for (const auto& one : source.fields) received.fields.emplace_back(one.name, one.value);
  }

  asio::io_context& io_;
  const gateway::admin_address& address_;
  stream::socket socket_;
};

}  // namespace

result<answer> exchange(const gateway::admin_address& address, std::string_view method,
                        std::string_view request, milliseconds timeout) {
  asio::io_context io(1);
  connection one(io, address);
  asio::co_spawn(io, one.run(method, request), base::rethrow);
  io.run_for(timeout);
  if (one.outcome) return std::move(one.outcome);
  return error(one.outcome.error().code, address.text() + ": " + one.outcome.error().detail);
}

}  // namespace onceguard::http1
