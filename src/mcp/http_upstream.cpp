#include "mcp/http_upstream.hpp"

#include <chrono>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "base/url.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::chrono::seconds longest_connect{10};
constexpr std::size_t piece_size = 32u << 10;
constexpr std::uint32_t longest_head = 64u << 10;

error failure(const char* action, const boost::system::error_code& why, effect known) {
  return {errc::store_unreachable, std::string(action) + ": " + why.message(), known};
}

/// For co_await: no exception, but an error in `failed`.
auto into(boost::system::error_code& failed) {
  return asio::redirect_error(asio::use_awaitable, failed);
}

tcp::socket& socket_of(beast::tcp_stream& stream) { return stream.socket(); }
tcp::socket& socket_of(beast::ssl_stream<beast::tcp_stream>& stream) {
  return stream.next_layer().socket();
}

template <class Stream>
class exchange_over final : public http_upstream {
 public:
  template <class... Arguments>
  exchange_over(asio::io_context& io, upstream_address address, Arguments&&... arguments)
      : address_(std::move(address)),
        resolver_(io),
        stream_(std::forward<Arguments>(arguments)...) {
    parser_.body_limit(boost::none);
    parser_.header_limit(longest_head);
  }

  asio::awaitable<result<void>> connect() override {
    boost::system::error_code failed;
    const auto found = co_await resolver_.async_resolve(address_.host, address_.port, into(failed));
    if (failed) co_return failure("the server's name can't be resolved", failed, effect::none);
    auto& lowest = beast::get_lowest_layer(stream_);
    lowest.expires_after(longest_connect);
    co_await lowest.async_connect(found, into(failed));
    if (failed) co_return failure("the server can't be reached", failed, effect::none);
    socket_of(stream_).set_option(tcp::no_delay(true), failed);
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      if (!SSL_set_tlsext_host_name(stream_.native_handle(), address_.host.c_str())) {
        co_return error(errc::invalid_argument, "the server's name can't be used with TLS");
      }
      stream_.set_verify_mode(asio::ssl::verify_peer);
      stream_.set_verify_callback(asio::ssl::host_name_verification(address_.host));
      co_await stream_.async_handshake(asio::ssl::stream_base::client, into(failed));
      if (failed) co_return failure("the server's TLS failed", failed, effect::none);
    }
    lowest.expires_never();
    co_return result<void>();
  }

  asio::awaitable<result<received_head>> exchange(const http_request& request) override {
    boost::system::error_code failed;
    http_request sent = request;
    co_await http::async_write(stream_, sent, into(failed));
    // A server may refuse a request before it has read all of it.
    const auto unsent = failed;
    co_await http::async_read_header(stream_, buffer_, parser_, into(failed));
    if (failed) {
      co_return failure("the server did not answer", unsent ? unsent : failed, effect::unknown);
    }
    co_return received_head{parser_.get().base()};
  }

  asio::awaitable<result<std::string>> read_some() override {
    boost::system::error_code failed;
    std::string piece(piece_size, '\0');
    while (!parser_.is_done()) {
      auto& body = parser_.get().body();
      body.data = piece.data();
      body.size = piece.size();
      co_await http::async_read_some(stream_, buffer_, parser_, into(failed));
      if (failed == http::error::need_buffer) failed = {};
      if (failed) co_return failure("the server's answer broke off", failed, effect::unknown);
      const auto got = piece.size() - body.size;
      if (got == 0) continue;
      piece.resize(got);
      co_return piece;
    }
    co_return std::string();
  }

  void close() noexcept override {
    resolver_.cancel();
    boost::system::error_code ignored;
    socket_of(stream_).close(ignored);
  }

 private:
  const upstream_address address_;
  tcp::resolver resolver_;
  Stream stream_;
  beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

asio::ssl::context& client_context() {
  static asio::ssl::context context = [] {
    asio::ssl::context made(asio::ssl::context::tls_client);
    made.set_default_verify_paths();
    return made;
  }();
  return context;
}

}  // namespace

result<upstream_address> read_upstream(const std::string& url) {
  const auto refuse = [&](const char* why) {
    return error(errc::invalid_argument, std::string("--upstream: ") + why);
  };
  upstream_address out;
  out.tls = url.starts_with("https://");
  if (!out.tls && !url.starts_with("http://")) return refuse("expected http://… or https://…");
  const auto rest = url.substr(out.tls ? 8 : 7);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  out.authority = rest.substr(0, end);
  out.target = rest.substr(end, rest.find('#') - end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  if (out.authority.find('@') != out.authority.npos) return refuse("a user has no place in it");
  const auto closing = out.authority.starts_with('[') ? out.authority.find(']') : 0;
  const auto colon = out.authority.find(':', closing == out.authority.npos ? 0 : closing);
  out.host = out.authority.substr(0, colon);
  if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
  out.port =
      colon == out.authority.npos ? (out.tls ? "443" : "80") : out.authority.substr(colon + 1);
  if (out.host.empty() || out.port.empty() ||
      out.port.find_first_not_of("0123456789") != out.port.npos || out.port.size() > 5) {
    return refuse("expected http://HOST[:PORT]/PATH");
  }
  return out;
}

std::unique_ptr<http_upstream> http_upstream::make(asio::io_context& io,
                                                   const upstream_address& address) {
  if (!address.tls) {
    return std::make_unique<exchange_over<beast::tcp_stream>>(io, address, io);
  }
  return std::make_unique<exchange_over<beast::ssl_stream<beast::tcp_stream>>>(io, address, io,
                                                                               client_context());
}

}  // namespace onceguard::mcp
