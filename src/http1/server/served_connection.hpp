// A connection to a listener: reads requests and writes answers, each within its time.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/timer_wheel.hpp"
#include "http1/message.hpp"
#include "http1/server/client_stream.hpp"

namespace onceguard::http1 {

struct served_limits {
  limits message{};
  std::size_t body_size_max = 0;
  std::chrono::milliseconds idle{30'000};  ///< between two requests
  std::chrono::milliseconds request{10'000};
  std::chrono::milliseconds write{10'000};
};

/// Belongs to the thread of the io_context.
class served_connection : private base::deadline {
 public:
  /// `settings` null: in the clear.
  served_connection(stream_socket socket, boost::asio::io_context& io, const served_limits& given,
                    const tls::context& settings = nullptr);

  /// Reads a head, after the handshake of TLS. False: the connection is over, or the head was
  /// refused.
  boost::asio::awaitable<bool> read_head();
  [[nodiscard]] const http1::head& head() const noexcept { return reader_.head(); }
  /// Reads the body into `out`. False: as above.
  boost::asio::awaitable<bool> read_body(std::string& out);
  /// False: the connection is over.
  boost::asio::awaitable<bool> write(std::string_view first, std::string_view second,
                                     std::chrono::milliseconds within);
  /// After a whole request: ready for the next one.
  void reset() { reader_.reset(); }
  /// Ends it from outside: what it waits for fails.
  void close() { expired(); }

 protected:
  /// The answer to what is no request, or too long a one; the connection ends behind it.
  [[nodiscard]] virtual std::string answer_to_fault(std::uint16_t status, std::string_view why) = 0;
  /// How long it may be without a request.
  [[nodiscard]] virtual std::chrono::milliseconds idle_time() const { return limits_.idle; }
  /// Answers by answer_to_fault() before the whole request is read, and ends the connection.
  boost::asio::awaitable<void> refuse(std::uint16_t status, std::string_view why);
  /// Whether another request may follow.
  [[nodiscard]] bool may_be_kept() const noexcept { return keep_; }
  [[nodiscard]] const served_limits& bounds() const noexcept { return limits_; }
  /// As client_stream has it.
  [[nodiscard]] bool peer_has_left() noexcept { return stream_.peer_has_left(); }
  [[nodiscard]] stream_socket& socket() noexcept { return stream_.socket(); }

 private:
  void expired() override;
  boost::asio::awaitable<bool> begin_tls();
  boost::asio::awaitable<http1::progress> advance();
  /// After an answer that was sent before the whole request had arrived: drops the rest, so that
  /// the client receives the answer.
  boost::asio::awaitable<void> linger();

  client_stream stream_;
  base::timer_wheel& wheel_;
  const served_limits limits_;
  http1::reader reader_;
  bool keep_ = true;
};

}  // namespace onceguard::http1
