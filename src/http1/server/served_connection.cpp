#include "http1/server/served_connection.hpp"

#include <array>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::http1 {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds linger_timeout{1'000};

}  // namespace

served_connection::served_connection(stream_socket socket, asio::io_context& io,
                                     const served_limits& given, const tls::context& settings)
    : stream_(std::move(socket), settings),
      wheel_(base::timer_wheel::of(io)),
      limits_(given),
      reader_(reader::kind::request, given.message) {}

void served_connection::expired() { stream_.close(); }

asio::awaitable<bool> served_connection::begin_tls() {
  arm(wheel_, limits_.request);
  const bool shaken = co_await stream_.shake_hands();
  disarm();
  if (!shaken && stream_.met_plain_http()) {
    stream_.write_in_the_clear(answer_to_fault(400, "This listener speaks HTTPS."));
  }
  co_return shaken;
}

asio::awaitable<progress> served_connection::advance() {
  for (;;) {
    const auto step = reader_.next();
    if (step != progress::need_more) co_return step;
    const auto room = reader_.prepare(4096);
    const auto got = co_await stream_.read_some(room);
    if (got.failure) co_return reader_.end_of_input();
    // The first bytes of a request end the idle time.
    if (reader_.idle()) arm(wheel_, limits_.request);
    reader_.commit(got.bytes);
  }
}

asio::awaitable<void> served_connection::refuse(std::uint16_t status, std::string_view why) {
  keep_ = false;
  if (!stream_.socket().is_open()) co_return;
  const auto answer = answer_to_fault(status, why);
  co_await write(answer, std::string_view(), limits_.write);
  co_await linger();
}

asio::awaitable<bool> served_connection::read_head() {
  if (stream_.is_new()) {
    const bool shaken = co_await begin_tls();
    if (!shaken) co_return false;
  }
  arm(wheel_, reader_.idle() ? idle_time() : limits_.request);
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
      const auto most = std::to_string(limits_.body_size_max);
      const auto why = "The body is longer than " + most + " bytes.";
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
  const auto failed = co_await stream_.write(first, second);
  disarm();
  co_return !failed;
}

asio::awaitable<void> served_connection::linger() {
  boost::system::error_code failed;
  stream_.shut_sending();
  arm(wheel_, linger_timeout);
  std::array<char, 4096> dropped{};
  while (!failed) {
    co_await stream_.socket().async_read_some(asio::buffer(dropped),
                                              asio::redirect_error(asio::use_awaitable, failed));
  }
  disarm();
}

}  // namespace onceguard::http1
