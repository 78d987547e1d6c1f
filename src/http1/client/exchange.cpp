#include "http1/client/exchange.hpp"

#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.hpp"
#include "base/rethrow.hpp"
#include "http1/message.hpp"

namespace onceguard::http1 {

namespace asio = boost::asio;
using boost::system::error_code;
using stream = asio::generic::stream_protocol;

namespace {

constexpr std::size_t answer_size_max = 64u << 20;

using endpoints = std::vector<stream::endpoint>;

result<endpoints> resolve(const base::endpoint& name) {
  asio::io_context io(1);
  asio::ip::tcp::resolver resolver(io);
  error_code failed;
  const auto found = resolver.resolve(name.host, std::to_string(name.port), failed);
  if (failed) return error(errc::not_found, failed.message());
  endpoints out;
  for (const auto& one : found) out.emplace_back(one.endpoint());
  return out;
}

/// The system's resolver knows no time limit: it runs on a thread that nobody waits for.
result<endpoints> find_endpoints(const base::server_address& address, milliseconds timeout) {
  if (address.is_socket()) {
    return endpoints{asio::local::stream_protocol::endpoint(address.socket_path)};
  }
  const auto found = std::make_shared<std::promise<result<endpoints>>>();
  auto future = found->get_future();
  std::thread([found, name = address.tcp] { found->set_value(resolve(name)); }).detach();
  if (future.wait_for(timeout) == std::future_status::ready) return future.get();
  return error(errc::not_found, "its name was not found in time");
}

/// One exchange over a connection of its own.
class connection {
 public:
  connection(asio::io_context& io, const endpoints& found) : endpoints_(found), socket_(io) {}

  asio::awaitable<void> run(std::string_view method, std::string_view request) {
    error_code failed;
    co_await connect(failed);
    if (failed) co_return fail(errc::not_found, failed.message());
    outcome = error(errc::not_found, "no answer in time", effect::unknown);
    // A server may answer, and stop reading or close, before it has read everything: the answer
    // counts. The end of the socket ends a write that still waits.
    asio::async_write(socket_, asio::buffer(request), [](const error_code&, std::size_t) {});
    co_await read(method);
    socket_.close(failed);
  }

  result<answer> outcome = error(errc::not_found, "no answer in time");

 private:
  /// What was sent may have been carried out.
  void fail(errc code, const std::string& why) {
    outcome = error(code, why, outcome.error().effect);
  }

  asio::awaitable<void> connect(error_code& failed) {
    for (const auto& one : endpoints_) {
      error_code ignored;
      socket_.close(ignored);
      co_await socket_.async_connect(one, asio::redirect_error(asio::use_awaitable, failed));
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
      // Nobody asked for another protocol: what follows is none of HTTP, and no answer.
      if (received.status == 101) co_return fail(errc::conflict, "101 came, and no answer");
      if (received.status >= 200) break;
      reader.reset();
    }
    outcome = std::move(received);
  }

  static void take_head(const head& source, answer& received) {
    received.status = source.status;
    received.fields.clear();
    for (const auto& one : source.fields) received.fields.emplace_back(one.name, one.value);
  }

  const endpoints& endpoints_;
  stream::socket socket_;
};

}  // namespace

result<answer> exchange(const base::server_address& address, std::string_view method,
                        std::string_view request, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const auto failed = [&address](const error& why) {
    return error(why.code, address.text() + ": " + why.detail, why.effect);
  };
  const auto found = find_endpoints(address, timeout);
  if (!found) return failed(found.error());
  asio::io_context io(1);
  connection one(io, *found);
  asio::co_spawn(io, one.run(method, request), base::rethrow);
  io.run_for(until - base::boot_now());
  if (!one.outcome) return failed(one.outcome.error());
  return std::move(one.outcome);
}

}  // namespace onceguard::http1
