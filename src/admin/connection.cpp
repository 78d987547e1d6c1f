#include "admin/connection.hpp"

#include <array>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using http1::progress;

namespace {

constexpr std::chrono::milliseconds idle_timeout{30'000};
constexpr std::chrono::milliseconds request_timeout{10'000};
constexpr std::chrono::milliseconds write_timeout{10'000};
constexpr std::chrono::milliseconds linger_timeout{1'000};

http1::limits request_limits() {
  http1::limits out;
  out.head_bytes_max = 16u << 10;
  return out;
}

}  // namespace

connection::connection(stream_socket socket, asio::io_context& io)
    : socket_(std::move(socket)),
      wheel_(base::timer_wheel::of(io)),
      reader_(http1::reader::kind::request, request_limits()) {}

void connection::expired() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<progress> connection::advance() {
  for (;;) {
    const auto step = reader_.next();
    if (step != progress::need_more) co_return step;
    const auto room = reader_.prepare(4096);
    boost::system::error_code failed;
    const auto size = co_await socket_.async_read_some(
        asio::buffer(room.data(), room.size()), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return reader_.end_of_input();
    // The first bytes of a request end the idle time.
    if (reader_.idle()) arm(wheel_, request_timeout);
    reader_.commit(size);
  }
}

asio::awaitable<bool> connection::read_head() {
  arm(wheel_, reader_.idle() ? idle_timeout : request_timeout);
  const auto step = co_await advance();
  disarm();
  if (step == progress::error) {
    keep_ = false;
    co_await send(refusal(reader_.fault().status, reader_.fault().text));
    co_await linger();
  }
  if (step != progress::head) co_return false;
  head_only_ = head().method == "HEAD";
  keep_ = head().keep_alive;
  co_return true;
}

asio::awaitable<bool> connection::read_body(std::string& out) {
  const auto announced = head().content_length.value_or(0);
  if (announced <= body_size_max && head().expect_continue) {
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  }
  arm(wheel_, request_timeout);
  for (;;) {
    if (announced > body_size_max || out.size() > body_size_max) {
      keep_ = false;
      co_await send(refusal(413, "The body is longer than 1 MiB."));
      co_await linger();
      co_return false;
    }
    const auto step = co_await advance();
    if (step == progress::end) break;
    if (step == progress::body) {
      out += reader_.body();
      continue;
    }
    if (step == progress::error && socket_.is_open()) {
      keep_ = false;
      co_await send(refusal(reader_.fault().status, reader_.fault().text));
    }
    co_return false;
  }
  disarm();
  co_return true;
}

asio::awaitable<bool> connection::send(const response& answer) {
  out_.clear();
  http1::append_status_line(out_, answer.status);
  http1::append_field(out_, "Content-Type", answer.type);
  http1::append_date(out_, base::system_clock().wall_ms() / 1000);
  // What it says is for its caller alone, and of this moment.
  http1::append_field(out_, "Cache-Control", "no-store");
  http1::append_field(out_, "X-Content-Type-Options", "nosniff");
  out_ += answer.fields;
  http1::append_content_length(out_, answer.body.size());
  if (!keep_) http1::append_field(out_, "Connection", "close");
  http1::append_end_of_head(out_);
  co_return co_await write(out_, head_only_ ? std::string_view() : answer.body) && keep_;
}

asio::awaitable<bool> connection::write(std::string_view first, std::string_view second) {
  arm(wheel_, write_timeout);
  boost::system::error_code failed;
  const std::array<asio::const_buffer, 2> both{asio::buffer(first), asio::buffer(second)};
  co_await asio::async_write(socket_, both, asio::redirect_error(asio::use_awaitable, failed));
  disarm();
  co_return !failed;
}

asio::awaitable<void> connection::linger() {
  boost::system::error_code failed;
  socket_.shutdown(asio::socket_base::shutdown_send, failed);
  arm(wheel_, linger_timeout);
  std::array<char, 4096> dropped{};
  while (!failed) {
    co_await socket_.async_read_some(asio::buffer(dropped),
                                     asio::redirect_error(asio::use_awaitable, failed));
  }
  disarm();
}

}  // namespace onceguard::admin
