#include "http1/server/client_stream.hpp"

#include <array>
#include <string>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "tls/session.hpp"

namespace onceguard::http1 {

namespace asio = boost::asio;
using boost::system::error_code;
using tls::step;

namespace {

/// A client that is always faster than we are would keep the thread to itself.
constexpr unsigned reads_in_a_row_max = 16;

error_code failure_of(step state) {
  if (state == step::ended) return asio::error::eof;
  return asio::error::connection_reset;
}

}  // namespace

client_stream::client_stream(stream_socket socket, const tls::context& settings)
    : socket_(std::move(socket)), settings_(settings), is_new_(settings != nullptr) {}

client_stream::~client_stream() { close(); }

asio::awaitable<error_code> client_stream::wait(bool readable) {
  error_code failed;
  reads_in_a_row_ = 0;
  const auto side = readable ? stream_socket::wait_read : stream_socket::wait_write;
  co_await socket_.async_wait(side, asio::redirect_error(asio::use_awaitable, failed));
  co_return failed;
}

asio::awaitable<bool> client_stream::shake_hands() {
  is_new_ = false;
  error_code failed;
  socket_.native_non_blocking(true, failed);
  if (failed) co_return false;
  tls_ = tls::session::accept(settings_, socket_.native_handle());
  if (!tls_) co_return false;
  for (;;) {
    const auto state = tls_->shake_hands();
    if (state == step::done) co_return true;
    if (state != step::want_read && state != step::want_write) co_return false;
    failed = co_await wait(state == step::want_read);
    if (failed || !socket_.is_open()) co_return false;
  }
}

bool client_stream::met_plain_http() const noexcept { return tls_ && tls_->met_plain_http(); }

asio::awaitable<client_stream::transfer> client_stream::read_some(std::span<char> target) {
  if (tls_) co_return co_await read_encrypted(target);
  transfer out;
  out.bytes =
      co_await socket_.async_read_some(asio::buffer(target.data(), target.size()),
                                       asio::redirect_error(asio::use_awaitable, out.failure));
  co_return out;
}

asio::awaitable<client_stream::transfer> client_stream::read_encrypted(std::span<char> target) {
  if (++reads_in_a_row_ >= reads_in_a_row_max) {
    reads_in_a_row_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
  transfer out;
  for (;;) {
    // Closed from outside, its number may be that of another connection by now.
    if (!socket_.is_open()) out.failure = asio::error::operation_aborted;
    if (out.failure) co_return out;
    const auto got = tls_->read(target);
    out.bytes = got.bytes;
    if (got.state == step::done) co_return out;
    if (got.state == step::want_read || got.state == step::want_write) {
      out.failure = co_await wait(got.state == step::want_read);
    } else {
      out.failure = failure_of(got.state);
    }
  }
}

asio::awaitable<error_code> client_stream::write(std::string_view first, std::string_view second) {
  error_code failed;
  if (!tls_) {
    const std::array<asio::const_buffer, 2> both{asio::buffer(first), asio::buffer(second)};
    co_await asio::async_write(socket_, both, asio::redirect_error(asio::use_awaitable, failed));
    co_return failed;
  }
  // One record, if it fits in one.
  constexpr std::size_t joined_max = 16u << 10;
  if (first.size() + second.size() <= joined_max) {
    const auto joined = std::string(first).append(second);
    co_return co_await write_encrypted(joined);
  }
  failed = co_await write_encrypted(first);
  if (!failed) failed = co_await write_encrypted(second);
  co_return failed;
}

asio::awaitable<error_code> client_stream::write_encrypted(std::string_view bytes) {
  error_code failed;
  while (!bytes.empty() && !failed) {
    if (!socket_.is_open()) co_return asio::error::operation_aborted;
    const auto sent = tls_->write(bytes);
    bytes.remove_prefix(sent.bytes);
    if (sent.state == step::done) continue;
    if (sent.state != step::want_read && sent.state != step::want_write) {
      co_return failure_of(sent.state);
    }
    failed = co_await wait(sent.state == step::want_read);
  }
  co_return failed;
}

void client_stream::write_in_the_clear(std::string_view bytes) noexcept {
  error_code ignored;
  if (socket_.is_open()) socket_.write_some(asio::buffer(bytes), ignored);
}

bool client_stream::peer_has_left() noexcept {
  if (!socket_.is_open()) return true;
  if (tls_) {
    const auto state = tls_->find_data();
    return state == step::ended || state == step::cut_off || state == step::failed;
  }
  error_code failed;
  char next = 0;
  socket_.non_blocking(true, failed);
  const auto got = socket_.receive(asio::buffer(&next, 1), asio::socket_base::message_peek, failed);
  return got == 0 && failed != asio::error::would_block;
}

void client_stream::shut_sending() noexcept {
  error_code ignored;
  if (!socket_.is_open()) return;
  if (tls_) tls_->announce_end();
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

void client_stream::close() noexcept {
  error_code ignored;
  if (!socket_.is_open()) return;
  if (tls_) tls_->announce_end();
  socket_.close(ignored);
}

}  // namespace onceguard::http1
