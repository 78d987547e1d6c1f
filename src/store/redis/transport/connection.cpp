#include "store/redis/transport/connection.hpp"

#include <algorithm>
#include <netinet/tcp.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/random.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;
namespace ssl = boost::asio::ssl;

constexpr const char* needs_tls =
    ": if the server speaks TLS on this port, the URL begins with rediss://";
constexpr char tls_alert = 0x15;  // the first byte of a record of TLS that refuses something

/// Keep-alive: notices a peer that has disappeared, even while the connection is idle.
void watch_peer(boost::asio::ip::tcp::socket& socket) {
  error_code ignored;
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  using seconds = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using pause = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using count = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  socket.set_option(seconds(10), ignored);
  socket.set_option(pause(3), ignored);
  socket.set_option(count(3), ignored);
}

error unusable(const std::string& file, const error_code& why) {
  return error(errc::invalid_argument, "redis store: can't use " + file + ": " + why.message());
}

std::string without_tls(const std::string& why) {
  return "no TLS handshake (" + why +
         "): if the server has no TLS on this port, the URL begins "
         "with redis:// instead of rediss://";
}

}  // namespace

result<std::optional<ssl::context>> make_tls(const address& address) {
  std::optional<ssl::context> out;
  if (!address.tls) return out;
  const auto& files = *address.tls;
  out.emplace(ssl::context::tls_client);
  error_code ec;
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

milliseconds pause_after(std::uint32_t failures) {
  const auto longest = std::min(std::int64_t{50} << std::min(failures, 8u), std::int64_t{2'000});
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  return milliseconds(longest * (256 + random[0]) / 512);
}

std::string text_in(const reply_ptr& got) {
  const reply reply(*got);
  if (reply.is_error()) throw broken{failure_of(reply.text())};
  return std::string(reply.text());
}

connection::connection(const connection_context& context, endpoint endpoint)
    : context_(context),
      endpoint_(std::move(endpoint)),
      resolver_(context.context),
      tcp_(context.context),
      reader_(redisReaderCreate()) {}

awaitable<void> connection::connect() {
  const auto found = co_await find_address();
  enter(phase::connecting);
  error_code ec;
  co_await boost::asio::async_connect(tcp_, found, redirect_error(use_awaitable, ec));
  if (ec) throw_connection_failure(ec.message());
  watch_peer(tcp_);
  if (context_.tls != nullptr) co_await shake_hands();
  enter(phase::open);
}

/// Not when it was closed meanwhile: connecting would open the socket again, and nobody would close
/// it.
void connection::enter(phase next) {
  if (phase_ == phase::closed) throw_connection_failure("it was closed");
  phase_ = next;
}

/// Resolutions wait for one another, and a slow one can't be cancelled. A numeric address needs
/// none.
awaitable<std::vector<connection::tcp::endpoint>> connection::find_address() {
  std::vector<tcp::endpoint> out;
  error_code ec;
  const auto address = boost::asio::ip::make_address(endpoint_.host, ec);
  if (const auto port = number_in<std::uint16_t>(endpoint_.port); port && !ec) {
    out.emplace_back(address, *port);
    co_return out;
  }
  const auto found = co_await resolver_.async_resolve(endpoint_.host, endpoint_.port,
                                                      redirect_error(use_awaitable, ec));
  if (ec) throw_connection_failure(ec.message());
  for (const auto& each : found) out.push_back(each.endpoint());
  co_return out;
}

awaitable<void> connection::shake_hands() {
  error_code ec;
  enter(phase::handshake);
  secure_.emplace(tcp_, *context_.tls);
  // For servers that have several names.
  SSL_set_tlsext_host_name(secure_->native_handle(), endpoint_.host.c_str());
  if (context_.address.tls->verify) {
    secure_->set_verify_callback(ssl::host_name_verification(endpoint_.host), ec);
    if (ec) throw_connection_failure(ec.message());
  }
  co_await secure_->async_handshake(ssl::stream_base::client, redirect_error(use_awaitable, ec));
  if (ec) throw broken{{{}, without_tls(ec.message()), is_of_certificates(ec)}};
}

awaitable<void> connection::log_in(const credentials& as) {
  if (as.user.empty() && as.password.empty()) co_return;
  auto command = as.user.empty() ? words("AUTH", as.password) : words("AUTH", as.user, as.password);
  text_in(co_await ask(std::move(command)));
}

awaitable<reply_ptr> connection::ask(std::string command) {
  co_await write(command);
  co_return co_await read_reply();
}

awaitable<reply_ptr> connection::read_reply() {
  auto got = next_reply();
  while (!got) {
    co_await receive();
    got = next_reply();
  }
  co_return got;
}

awaitable<void> connection::write(const std::string& bytes) {
  error_code ec;
  const auto all = boost::asio::buffer(bytes);
  if (secure_) {
    co_await boost::asio::async_write(*secure_, all, redirect_error(use_awaitable, ec));
  } else {
    co_await boost::asio::async_write(tcp_, all, redirect_error(use_awaitable, ec));
  }
  if (ec) throw_connection_failure("writing: " + ec.message());
}

awaitable<void> connection::receive() {
  error_code ec;
  std::size_t got = 0;
  const auto room = boost::asio::buffer(buffer_);
  if (secure_) {
    got = co_await secure_->async_read_some(room, redirect_error(use_awaitable, ec));
  } else {
    got = co_await tcp_.async_read_some(room, redirect_error(use_awaitable, ec));
  }
  const bool first = !std::exchange(received_, true) && !secure_;
  if (ec) {
    const bool ended = ec == boost::asio::error::eof;
    throw_connection_failure((ended ? "the server closed the connection" : ec.message()) +
                             (first ? needs_tls : ""));
  }
  if (first && buffer_.front() == tls_alert)
    throw_connection_failure("no reply" + std::string(needs_tls));
  if (redisReaderFeed(reader_.get(), buffer_.data(), got) != REDIS_OK)
    throw_connection_failure(reader_->errstr);
}

reply_ptr connection::next_reply() {
  void* got = nullptr;
  if (redisReaderGetReply(reader_.get(), &got) != REDIS_OK)
    throw_connection_failure(reader_->errstr);
  return reply_ptr(static_cast<redisReply*>(got));
}

void connection::close() noexcept {
  phase_ = phase::closed;
  error_code ignored;
  resolver_.cancel();
  // Bytes in flight must not arrive any more: their requests were given up, or are repeated.
  tcp_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  tcp_.close(ignored);
}

std::string connection::lateness() const {
  const std::string late = "the connection was not made in time";
  return phase_ == phase::handshake ? without_tls(late) : late;
}

}  // namespace onceguard::redis
