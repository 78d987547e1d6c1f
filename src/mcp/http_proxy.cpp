#include "mcp/http_proxy.hpp"

#include <chrono>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "http1/server/listener.hpp"
#include "mcp/call_guard.hpp"
#include "mcp/caller_tools.hpp"
#include "mcp/http_exchange.hpp"
#include "mcp/server_call.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

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
                connections_,
                local_only_,
                params_.calls.policy,
                std::move(complain)} {}

  result<std::uint16_t> listen() {
    auto upstream = read_server_url(params_.upstream);
    if (!upstream) return upstream.error();
    upstream_ = std::move(*upstream);
    boost::system::error_code failed;
    const auto address = asio::ip::make_address(params_.host, failed);
    const base::server_address where{{params_.host, params_.port}, {}};
    if (failed)
      return error(errc::invalid_argument, "--listen " + where.text() + ": expected an IP address");
    local_only_ = address.is_loopback();
    if (auto listening = listener_.listen(where); !listening) {
      return error(errc::invalid_argument, "--listen " + listening.error().detail);
    }
    return listener_.local().tcp.port;
  }

  void run() {
    auto accepting = listener_.accept(
        [this](http1::stream_socket socket) { take(std::move(socket)); },
        [this](const std::string& why) { shared_.complain("a client can't be taken: " + why); });
    asio::co_spawn(io_, std::move(accepting), [this](std::exception_ptr thrown) {
      if (thrown) shared_.complain("the proxy listens no more, by a fault of its own");
    });
    io_.run();
  }

  ~listener() {
    // No lease is given up amid the end of `io_`, and no timer outlives it.
    for (auto* const each : shared_.guarding) each->drop_call();
    shared_.unfinished.clear();
    connections_.end();
  }

  void stop() {
    asio::post(io_, [this] {
      listener_.close();
      if (std::exchange(stopping_, true)) {
        end_ = base::boot_now();
        return;
      }
      end_ = base::boot_now() + drain;
      finish();
    });
  }

 private:
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

  void take(http1::stream_socket socket) {
    asio::co_spawn(io_, serve(std::move(socket)), [this](std::exception_ptr thrown) {
      if (thrown) shared_.complain("a connection was lost by a fault of the proxy");
    });
  }

  asio::awaitable<void> serve(http1::stream_socket socket) {
    client_connection client(std::move(socket), io_);
    http_request request;
    while (co_await client.read_request(request)) {
      http_exchange exchange(shared_, client, std::move(request));
      const bool usable = co_await exchange.serve();
      if (!usable || !client.takes_another()) break;
    }
    client.shut_sending();
  }

  const http_proxy_params params_;
  call_guard calls_;
  caller_tools tools_;
  server_address upstream_;
  server_connections connections_{io_, upstream_};
  bool local_only_ = true;
  http_shared shared_;
  // Behind what it is shared with: its end is that of the exchanges that still run.
  asio::io_context io_{1};
  http1::listener listener_{io_};
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
