#include "store/redis/socket.hpp"

#include <netinet/tcp.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>


namespace onceguard::redis {
namespace {

using boost::asio::awaitable;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::asio::ip::tcp;
namespace ssl = boost::asio::ssl;

/// Keep-alive: notices a peer that has disappeared, even while the connection is idle.
void watch_peer(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  using seconds = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using pause = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using count = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  socket.set_option(seconds(10), ignored);
  socket.set_option(pause(3), ignored);
  socket.set_option(count(3), ignored);
}

error unusable(const std::string& file, const boost::system::error_code& why) {
  return error(errc::invalid_argument, "redis store: can't use " + file + ": " + why.message());
}

}  // namespace

result<std::optional<ssl::context>> make_tls(const address& address) {
  std::optional<ssl::context> out;
  if (!address.tls) return out;
  const auto& files = *address.tls;
  out.emplace(ssl::context::tls_client);
  boost::system::error_code ec;
  out->set_options(
      ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, ec);
  if (files.ca.empty()) {
    out->set_default_verify_paths(ec);
  } else if (out->load_verify_file(files.ca, ec); ec) {
    return unusable(files.ca, ec);
  }
  if (!files.certificate.empty()) {
    if (out->use_certificate_chain_file(files.certificate, ec); ec) {
      return unusable(files.certificate, ec);
    }
    if (out->use_private_key_file(files.key, ssl::context::pem, ec); ec) {
      return unusable(files.key, ec);
    }
  }
  out->set_verify_mode(files.verify ? ssl::verify_peer : ssl::verify_none, ec);
  return out;
}

awaitable<socket::error_code> socket::connect() {
  error_code ec;
  const auto found = co_await find_address(ec);
  if (ec) co_return ec;
  // Closed while the resolution ended: connecting would open the socket again, and nobody would
  // close it.
  if (closed_) co_return boost::asio::error::operation_aborted;
  co_await boost::asio::async_connect(tcp_, found, redirect_error(use_awaitable, ec));
  if (ec) co_return ec;
  watch_peer(tcp_);
  if (tls_ != nullptr) co_return co_await shake_hands();
  co_return ec;
}

/// Resolutions wait for one another, and a slow one can't be cancelled. A numeric address needs
/// none.
awaitable<std::vector<tcp::endpoint>> socket::find_address(error_code& why) {
  std::vector<tcp::endpoint> out;
  error_code is_a_name;
  const auto address = boost::asio::ip::make_address(to_.host, is_a_name);
  if (const auto port = number_in<std::uint16_t>(to_.port); port && !is_a_name) {
    out.emplace_back(address, *port);
    co_return out;
  }
  const auto found =
      co_await resolver_.async_resolve(to_.host, to_.port, redirect_error(use_awaitable, why));
  for (const auto& each : found) out.push_back(each.endpoint());
  co_return out;
}

awaitable<socket::error_code> socket::shake_hands() {
  error_code ec;
  secure_.emplace(tcp_, *tls_);
  // For servers that have several names.
  SSL_set_tlsext_host_name(secure_->native_handle(), to_.host.c_str());
  if (verify_) {
    secure_->set_verify_callback(ssl::host_name_verification(to_.host), ec);
    if (ec) co_return ec;
  }
  co_await secure_->async_handshake(ssl::stream_base::client, redirect_error(use_awaitable, ec));
  co_return ec;
}

awaitable<std::size_t> socket::read(boost::asio::mutable_buffer buffer, error_code& why) {
  if (secure_)
    co_return co_await secure_->async_read_some(buffer, redirect_error(use_awaitable, why));
  co_return co_await tcp_.async_read_some(buffer, redirect_error(use_awaitable, why));
}

awaitable<socket::error_code> socket::write(const std::string& bytes) {
  error_code ec;
  const auto all = boost::asio::buffer(bytes);
  if (secure_) {
    co_await boost::asio::async_write(*secure_, all, redirect_error(use_awaitable, ec));
  } else {
    co_await boost::asio::async_write(tcp_, all, redirect_error(use_awaitable, ec));
  }
  co_return ec;
}

void socket::close() noexcept {
  closed_ = true;
  error_code ignored;
  resolver_.cancel();
  // Bytes in flight must not arrive any more: their requests were given up, or are repeated.
  tcp_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  tcp_.close(ignored);
}

}  // namespace onceguard::redis
