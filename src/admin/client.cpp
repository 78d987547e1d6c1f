#include "admin/client.hpp"

#include <optional>

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

namespace onceguard::admin {

namespace asio = boost::asio;
using boost::system::error_code;
using stream = asio::generic::stream_protocol;

namespace {

constexpr std::size_t answer_size_max = 64u << 20;

std::string bytes_of(const gateway::admin_address& address, const client_request& request) {
  std::string out;
  http1::append_request_line(out, request.method, request.target);
  http1::append_field(out, "Host", address.is_socket() ? "localhost" : address.text());
  http1::append_field(out, "Connection", "close");
  if (!request.token.empty()) http1::append_field(out, "Authorization", "Bearer " + request.token);
  if (request.method == "POST") {
    http1::append_field(out, "Content-Type", "application/json");
    http1::append_content_length(out, request.body.size());
  }
  http1::append_end_of_head(out);
  return out + request.body;
}

/// One exchange over a connection of its own.
class exchange {
 public:
  exchange(asio::io_context& io, const gateway::admin_address& address)
      : io_(io), address_(address), socket_(io) {}

  asio::awaitable<void> run(const client_request& request) {
    error_code failed;
    co_await connect(failed);
    if (failed) co_return fail(errc::not_found, failed.message());
    const auto bytes = bytes_of(address_, request);
    co_await asio::async_write(socket_, asio::buffer(bytes),
                               asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fail(errc::not_found, failed.message());
    co_await read(request.method);
  }

  result<client_answer> outcome = error(errc::not_found, "no answer in time");

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
    client_answer answer;
    for (;;) {
      auto step = reader.next();
      if (step == http1::progress::need_more) {
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
        if (step == http1::progress::need_more) co_return fail(errc::conflict, "no answer came");
      }
      if (step == http1::progress::error) co_return fail(errc::conflict, "no HTTP answer came");
      if (step == http1::progress::head) answer.status = reader.head().status;
      if (step == http1::progress::body) answer.body += reader.body();
      if (answer.body.size() > answer_size_max)
        co_return fail(errc::conflict, "a long answer came");
      if (step == http1::progress::end) break;
    }
    outcome = std::move(answer);
  }

  asio::io_context& io_;
  const gateway::admin_address& address_;
  stream::socket socket_;
};

}  // namespace

result<client_answer> ask(const gateway::admin_address& address, const client_request& request,
                          milliseconds timeout) {
  asio::io_context io(1);
  exchange one(io, address);
  asio::co_spawn(io, one.run(request), base::rethrow);
  io.run_for(timeout);
  if (one.outcome) return std::move(one.outcome);
  return error(one.outcome.error().code, address.text() + ": " + one.outcome.error().detail);
}

}  // namespace onceguard::admin
