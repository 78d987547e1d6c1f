#include "http1/server/served_connection.hpp"

#include <array>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace onceguard::http1 {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds linger_timeout{1'000};

}  // namespace

served_connection::served_connection(stream_socket socket, asio::io_context& io,
                                     const served_limits& given)
    : socket_(std::move(socket)),
      wheel_(base::timer_wheel::of(io)),
      limits_(given),
      reader_(reader::kind::request, given.message) {}

void served_connection::expired() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<progress> served_connection::advance() {
  for (;;) {
    const auto step = reader_.next();
    if (step != progress::need_more) co_return step;
    const auto room = reader_.prepare(4096);
    boost::system::error_code failed;
    const auto size = co_await socket_.async_read_some(
        asio::buffer(room.data(), room.size()), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return reader_.end_of_input();
    // The first bytes of a request end the idle time.
    if (reader_.idle()) arm(wheel_, limits_.request);
    reader_.commit(size);
  }
}

asio::awaitable<void> served_connection::refuse(std::uint16_t status, std::string_view why) {
  keep_ = false;
  if (!socket_.is_open()) co_return;
  const auto answer = answer_to_fault(status, why);
  co_await write(answer, std::string_view(), limits_.write);
  co_await linger();
}

asio::awaitable<bool> served_connection::read_head() {
  arm(wheel_, reader_.idle() ? limits_.idle : limits_.request);
  const auto step = co_await advance();
  disarm();
  if (step == progress::error) co_await refuse(reader_.fault().status, reader_.fault().text);
  if (step != progress::head) co_return false;
  keep_ = head().keep_alive;
  co_return true;
}

asio::awaitable<bool> served_connection::read_body(std::string& out) {
  const auto announced = head().content_length.value_or(0);
  if (announced <= limits_.body_size_max && head().expect_continue) {
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n", std::string_view(), limits_.write))
      co_return false;
  }
  arm(wheel_, limits_.request);
  for (;;) {
    if (announced > limits_.body_size_max || out.size() > limits_.body_size_max) {
      const auto most = std::to_string(limits_.body_size_max >> 20);
      const auto why = "The body is longer than " + most + " MiB.";
      co_await refuse(413, why);
      co_return false;
    }
    const auto step = co_await advance();
    if (step == progress::end) break;
    if (step == progress::body) {
      out += reader_.body();
      continue;
    }
    if (step == progress::error) co_await refuse(reader_.fault().status, reader_.fault().text);
    co_return false;
  }
  disarm();
  co_return true;
}

asio::awaitable<bool> served_connection::write(std::string_view first, std::string_view second,
                                               std::chrono::milliseconds within) {
  arm(wheel_, within);
  boost::system::error_code failed;
  const std::array<asio::const_buffer, 2> both{asio::buffer(first), asio::buffer(second)};
  co_await asio::async_write(socket_, both, asio::redirect_error(asio::use_awaitable, failed));
  disarm();
  co_return !failed;
}

asio::awaitable<void> served_connection::linger() {
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

}  // namespace onceguard::http1
