#include "mcp/http_proxy.hpp"

#include <chrono>
#include <optional>
#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>

#include "base/clock.hpp"
#include "mcp/call_guard.hpp"
#include "mcp/caller_tools.hpp"
#include "mcp/http_exchange.hpp"
#include "mcp/http_upstream.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t longest_request = 64u << 20;
/// After a stop request, for the calls that run.
constexpr std::chrono::seconds drain{25};
/// For the store to take down that nobody knows how the others end.
constexpr std::chrono::seconds longest_end{8};

}  // namespace

class http_proxy::listener {
 public:
  listener(guard& records, http_proxy_params params,
           std::function<void(const std::string&)> complain)
      : params_(std::move(params)),
        calls_(records, params_.calls),
        tools_(params_.calls),
        shared_{io_,
                calls_,
                tools_,
                upstream_,
                local_only_,
                params_.calls.policy,
                std::move(complain)} {}

  result<std::uint16_t> listen() {
    auto upstream = read_upstream(params_.upstream);
    if (!upstream) return upstream.error();
    upstream_ = std::move(*upstream);
    boost::system::error_code failed;
    const auto address = asio::ip::make_address(params_.host, failed);
    if (failed) return refuse("expected an IP address", failed);
    const tcp::endpoint endpoint(address, params_.port);
    local_only_ = address.is_loopback();
    acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (failed) return refuse("can't listen", failed);
    return acceptor_.local_endpoint().port();
  }

  void run() {
    asio::co_spawn(io_, accept(), [this](std::exception_ptr thrown) {
      if (thrown) shared_.complain("the proxy listens no more, by a fault of its own");
    });
    io_.run();
  }

  ~listener() {
    // No lease is given up amid the end of `io_`, and no timer outlives it.
    for (auto* const each : shared_.guarding) each->drop_call();
    shared_.unfinished.clear();
  }

  void stop() {
    asio::post(io_, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      if (std::exchange(stopping_, true)) {
        end_ = base::boot_now();
        return;
      }
      end_ = base::boot_now() + drain;
      finish();
    });
  }

 private:
  result<std::uint16_t> refuse(const char* why, const boost::system::error_code& failed) const {
    return error(errc::invalid_argument, "--listen " + params_.host + ':' +
                                             std::to_string(params_.port) + ": " + why + ": " +
                                             failed.message());
  }

  /// Ends when no guarded call runs any more.
  void finish() {
    if (shared_.guarded == 0) return io_.stop();
    if (base::boot_now() >= end_) {
      if (std::exchange(shared_.ending, true)) return io_.stop();
      end_ = base::boot_now() + longest_end;
      give_up_calls();
    }
    drained_.expires_after(std::chrono::milliseconds(20));
    drained_.async_wait([this](const boost::system::error_code&) { finish(); });
  }

  void give_up_calls() {
    for (auto* const each : shared_.guarding) each->end();
    while (!shared_.unfinished.empty()) {
      const auto name = shared_.unfinished.begin()->first;
      shared_.give_up(name, unknown_reason::abandoned);
    }
  }

  asio::awaitable<void> accept() {
    while (acceptor_.is_open()) {
      boost::system::error_code failed;
      tcp::socket client(io_);
      co_await acceptor_.async_accept(client, asio::redirect_error(asio::use_awaitable, failed));
      if (failed) {
        if (!acceptor_.is_open()) co_return;
        // No descriptor is left, for example.
        asio::steady_timer pause(io_, std::chrono::milliseconds(50));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
        continue;
      }
      client.set_option(tcp::no_delay(true), failed);
      asio::co_spawn(io_, serve(std::move(client)), [this](std::exception_ptr thrown) {
        if (thrown) shared_.complain("a connection was lost by a fault of the proxy");
      });
    }
  }

  asio::awaitable<void> serve(tcp::socket client) {
    beast::flat_buffer buffer;
    while (client.is_open()) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(longest_request);
      boost::system::error_code failed;
      co_await http::async_read(client, buffer, parser,
                                asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return;
      const bool last = !parser.get().keep_alive();
      http_exchange exchange(shared_, client, parser.release());
      const bool usable = co_await exchange.serve();
      if (!usable || last) break;
    }
    boost::system::error_code ignored;
    client.shutdown(tcp::socket::shutdown_send, ignored);
  }

  const http_proxy_params params_;
  call_guard calls_;
  caller_tools tools_;
  upstream_address upstream_;
  bool local_only_ = true;
  http_shared shared_;
  // Behind what it is shared with: its end is that of the exchanges that still run.
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer drained_{io_};
  base::boot_clock::time_point end_;
  bool stopping_ = false;
};

http_proxy::http_proxy(guard& records, http_proxy_params params,
                       std::function<void(const std::string&)> complain)
    : listener_(std::make_unique<listener>(records, std::move(params), std::move(complain))) {}
http_proxy::~http_proxy() = default;
result<std::uint16_t> http_proxy::listen() { return listener_->listen(); }
void http_proxy::run() { listener_->run(); }
void http_proxy::stop() { listener_->stop(); }

}  // namespace onceguard::mcp
