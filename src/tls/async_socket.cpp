#include "tls/async_socket.hpp"

#include <array>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.hpp"
#include "tls/session.hpp"

namespace onceguard::tls {
namespace {

/// Ends the deadline of a read, and passes the result on. A coroutine for this step would be the
/// most expensive part of a small read.
template <class Handler, class Limit>
struct read_handler {
  Handler next;
  Limit& limit;
  async_socket& socket;
  std::span<char> target;

  void operator()(const error_code& failure, std::size_t bytes) {
    transfer out{limit.end(failure), bytes};
    if (out.failure == boost::asio::error::timed_out && socket.is_open()) {
      const auto late = socket.read_now(target);
      if (late.failure != boost::asio::error::would_block) out = late;
    }
    std::move(next)(out);
  }
};

using unsent_limit = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
/// The kernel sends its unsent data whatever happens to this process. So the kernel gets as little
/// as possible while the peer takes nothing.
constexpr int unsent_request_max = 32 * 1024;
constexpr int unsent_answer_max = 128 * 1024;

boost::asio::awaitable<transfer> too_late() {
  co_return transfer{boost::asio::error::timed_out, 0};
}

}  // namespace
}  // namespace onceguard::tls

/// Takes the executor, the cancellation slot and the other associations of the wrapped handler.
template <template <class, class> class Associator, class Handler, class Limit, class Default>
struct boost::asio::associator<Associator, onceguard::tls::read_handler<Handler, Limit>, Default>
    : Associator<Handler, Default> {
  using whole = onceguard::tls::read_handler<Handler, Limit>;
  static auto get(const whole& h) noexcept { return Associator<Handler, Default>::get(h.next); }
  static auto get(const whole& h, const Default& otherwise) noexcept {
    return Associator<Handler, Default>::get(h.next, otherwise);
  }
};

namespace onceguard::tls {

namespace asio = boost::asio;

async_socket::async_socket(tcp::socket socket, asio::io_context& io)
    // A socket that is broken already fails at its first use.
    : socket_(std::move(socket)), wheel_(base::timer_wheel::of(io)) {
  error_code ignored;
  if (socket_.is_open()) {
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
  }
}

error_code async_socket::limit::end(error_code failure) noexcept {
  disarm();
  if (passed_ && failure) return asio::error::timed_out;
  return failure;
}

asio::awaitable<error_code> async_socket::connect(tcp::endpoint endpoint, milliseconds timeout) {
  error_code ec;
  writing_.begin(timeout);
  co_await socket_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, ec));
  ec = writing_.end(ec);
  if (!ec) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(unsent_limit(unsent_request_max), ignored);
  }
  co_return ec;
}

asio::awaitable<error_code> async_socket::connect(std::span<const asio::ip::address> addresses,
                                                  std::uint16_t port, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  error_code ec = asio::error::host_not_found;
  auto untried = static_cast<std::int64_t>(addresses.size());
  for (const auto& each : addresses) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    const auto share = std::max(left / untried--, milliseconds(1));
    ec = co_await connect(tcp::endpoint(each, port), share);
    const bool closed = ec == asio::error::timed_out && !is_open();
    if (!ec || ec == asio::error::operation_aborted || closed) break;
    close_silently();  // the next one may be of another kind
  }
  co_return ec;
}

async_socket::~async_socket() {
  if (tls_ && socket_.is_open()) tls_->announce_end();
}

/// Data that is decrypted already needs no wait, and a peer that is fast must not keep the thread.
constexpr unsigned reads_in_a_row_max = 16;

namespace {

/// OpenSSL knows only the number of the socket. Once this socket is closed, the number may be that
/// of another connection.
const transfer closed_meanwhile{asio::error::operation_aborted, 0};

transfer as_transfer(progress moved) {
  transfer out;
  out.bytes = moved.bytes;
  switch (moved.state) {
    case step::done:
      break;
    case step::want_read:
    case step::want_write:
      out.failure = asio::error::would_block;
      break;
    case step::ended:
      out.failure = asio::error::eof;
      break;
    case step::cut_off:  // what came is perhaps not all
    case step::failed:
      out.failure = asio::error::connection_reset;
      break;
  }
  return out;
}

}  // namespace

asio::awaitable<error_code> async_socket::wait_for(bool readable) {
  error_code ec;
  co_await socket_.async_wait(readable ? tcp::socket::wait_read : tcp::socket::wait_write,
                              asio::redirect_error(asio::use_awaitable, ec));
  co_return ec;
}

asio::awaitable<error_code> async_socket::secure(std::unique_ptr<session> made,
                                                 milliseconds timeout) {
  if (!made) co_return asio::error::no_memory;
  tls_ = std::move(made);
  reading_.begin(timeout);
  for (;;) {
    if (!is_open()) co_return reading_.end(asio::error::operation_aborted);
    const auto state = tls_->shake_hands();
    if (state == step::done) break;
    if (state != step::want_read && state != step::want_write) {
      reading_.disarm();
      co_return asio::error::connection_refused;
    }
    const auto failure = co_await wait_for(state == step::want_read);
    if (failure) co_return reading_.end(failure);
  }
  reading_.disarm();
  co_return error_code();
}

asio::awaitable<transfer> async_socket::read_encrypted(std::span<char> target,
                                                       milliseconds timeout) {
  if (++reads_in_a_row_ >= reads_in_a_row_max) {
    reads_in_a_row_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
  reading_.begin(timeout);
  for (;;) {
    const auto out = read_now(target);
    if (out.failure != asio::error::would_block) {
      reading_.disarm();
      co_return out;
    }
    reads_in_a_row_ = 0;
    const auto waited = co_await wait_for(!read_wants_write_);
    if (!waited) continue;
    const auto failure = reading_.end(waited);
    if (failure == asio::error::timed_out && is_open()) {
      const auto late = read_now(target);
      if (late.failure != asio::error::would_block) co_return late;
    }
    co_return transfer{failure, 0};
  }
}

asio::awaitable<transfer> async_socket::read_some(std::span<char> bytes, milliseconds timeout) {
  // Data that has arrived meanwhile is too late: otherwise a peer that sends slowly would never
  // time out.
  if (timeout.count() <= 0) return too_late();
  if (tls_) return read_encrypted(bytes, timeout);
  auto begin = [this](auto handler, std::span<char> target, milliseconds within) {
    reading_.begin(within);
    socket_.async_read_some(
        asio::buffer(target.data(), target.size()),
        read_handler<decltype(handler), limit>{std::move(handler), reading_, *this, target});
  };
  return asio::async_initiate<const asio::use_awaitable_t<>&, void(transfer)>(
      begin, asio::use_awaitable, bytes, timeout);
}

transfer async_socket::read_now(std::span<char> target) noexcept {
  if (tls_) {
    if (!is_open()) return closed_meanwhile;
    const auto moved = tls_->read(target);
    read_wants_write_ = moved.state == step::want_write;
    return as_transfer(moved);
  }
  transfer out;
  out.bytes = socket_.read_some(asio::buffer(target.data(), target.size()), out.failure);
  return out;
}

void async_socket::hand_over_little() noexcept {
  if (std::exchange(hands_over_little_, true)) return;
  error_code ignored;  // the kernel's default then applies
  socket_.set_option(unsent_limit(unsent_answer_max), ignored);
}

transfer async_socket::write_now(std::string_view bytes) noexcept {
  if (tls_) {
    if (!is_open()) return closed_meanwhile;
    const auto moved = tls_->write(bytes);
    write_wants_read_ = moved.state == step::want_read;
    return as_transfer(moved);
  }
  transfer out;
  out.bytes = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), out.failure);
  return out;
}

template <class Buffers>
asio::awaitable<void> async_socket::write_rest(Buffers rest, milliseconds timeout, transfer& out) {
  transfer_pace pace(timeout, least_rate_);
  auto before = base::boot_now();
  std::size_t taken_before = 0;
  // Called before each piece. A peer that takes some data has the whole timeout for the next piece,
  // as long as its average rate is sufficient.
  const auto go_on = [&](const error_code& failure, std::size_t taken) -> std::size_t {
    if (failure) return 0;
    const auto now = base::boot_now();
    const auto took = std::chrono::duration_cast<milliseconds>(now - before);
    pace.waited(std::min(took, timeout), taken - taken_before);
    before = now;
    taken_before = taken;
    writing_.begin(std::max(pace.left(timeout), milliseconds(1)));
    return 65'536;
  };
  out.bytes += co_await asio::async_write(socket_, rest, go_on,
                                          asio::redirect_error(asio::use_awaitable, out.failure));
  out.failure = writing_.end(out.failure);
}

/// As write_rest().
asio::awaitable<void> async_socket::write_encrypted(std::string_view rest, milliseconds timeout,
                                                    transfer& out) {
  transfer_pace pace(timeout, least_rate_);
  while (!rest.empty()) {
    const auto before = base::boot_now();
    writing_.begin(std::max(pace.left(timeout), milliseconds(1)));
    const auto waited = co_await wait_for(write_wants_read_);
    out.failure = writing_.end(waited);
    if (out.failure) co_return;
    const auto moved = write_now(rest);
    const auto took = std::chrono::duration_cast<milliseconds>(base::boot_now() - before);
    pace.waited(std::min(took, timeout), moved.bytes);
    out.bytes += moved.bytes;
    rest.remove_prefix(moved.bytes);
    if (moved.failure && moved.failure != asio::error::would_block) {
      out.failure = moved.failure;
      co_return;
    }
  }
}

asio::awaitable<transfer> async_socket::write(std::string_view bytes, milliseconds timeout) {
  return write_on(write_now(bytes), bytes, timeout);
}

asio::awaitable<transfer> async_socket::write_on(transfer out, std::string_view bytes,
                                                 milliseconds timeout) {
  if (out.failure == asio::error::would_block) out.failure = {};
  if (out.failure || out.bytes == bytes.size()) co_return out;
  const auto rest = bytes.substr(out.bytes);
  if (tls_) {
    co_await write_encrypted(rest, timeout, out);
    co_return out;
  }
  const asio::const_buffer left(rest.data(), rest.size());
  co_await write_rest(left, timeout, out);
  co_return out;
}

asio::awaitable<transfer> async_socket::write(std::string_view first, std::string_view second,
                                              milliseconds timeout) {
  if (tls_) {
    auto sent = co_await write(first, timeout);
    if (sent.failure) co_return sent;
    const auto more = co_await write(second, timeout);
    co_return transfer{more.failure, sent.bytes + more.bytes};
  }
  const std::array<asio::const_buffer, 2> both{asio::buffer(first.data(), first.size()),
                                               asio::buffer(second.data(), second.size())};
  transfer out;
  out.bytes = socket_.write_some(both, out.failure);
  if (out.failure == asio::error::would_block) out.failure = {};
  if (out.failure || out.bytes == first.size() + second.size()) co_return out;
  const auto in_first = std::min(out.bytes, first.size());
  const auto head = first.substr(in_first);
  const auto tail = second.substr(out.bytes - in_first);
  const std::array<asio::const_buffer, 2> rest{asio::buffer(head.data(), head.size()),
                                               asio::buffer(tail.data(), tail.size())};
  co_await write_rest(rest, timeout, out);
  co_return out;
}

asio::awaitable<error_code> async_socket::wait_either(milliseconds timeout) {
  using namespace asio::experimental::awaitable_operators;
  error_code readable;
  error_code writable;
  writing_.begin(timeout);
  auto reading = socket_.async_wait(tcp::socket::wait_read,
                                    asio::redirect_error(asio::use_awaitable, readable));
  auto writing = socket_.async_wait(tcp::socket::wait_write,
                                    asio::redirect_error(asio::use_awaitable, writable));
  co_await (std::move(reading) || std::move(writing));
  // One wait is cancelled by the other; both are cancelled only if the deadline passed.
  co_return writing_.end(readable && writable ? readable : error_code{});
}

bool async_socket::quiet_and_open() noexcept {
  // A session ticket is no data.
  if (tls_) return is_open() && tls_->find_data() == step::want_read;
  // Nothing is due on a connection that waits for a request: a byte would pass for the beginning of
  // the next answer, and 0 is its end.
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool async_socket::peer_has_left() noexcept {
  pollfd state{.fd = socket_.native_handle(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool async_socket::is_broken() noexcept {
  pollfd state{.fd = socket_.native_handle(), .events = 0, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

void async_socket::shut_sending() noexcept {
  if (tls_) tls_->announce_end();
  error_code ignored;  // the peer may be gone already
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void async_socket::close() noexcept {
  if (tls_ && socket_.is_open()) tls_->announce_end();
  close_silently();
}

void async_socket::close_silently() noexcept {
  reading_.disarm();
  writing_.disarm();
  error_code ignored;  // it is gone either way
  socket_.close(ignored);
}

void async_socket::abort() noexcept {
  error_code ignored;  // it is gone either way
  // socket(7), SO_LINGER: with a time of 0, close() drops what the kernel has not sent, and resets.
  socket_.set_option(tcp::socket::linger(true, 0), ignored);
  close_silently();  // an announced end would look like a complete answer
}

void async_socket::cancel() noexcept {
  error_code ignored;  // no operation was running
  socket_.cancel(ignored);
}

}  // namespace onceguard::tls
