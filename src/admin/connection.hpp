// A connection of the admin listener: reads requests, sends answers, each within its time.
#pragma once
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "admin/resource.hpp"
#include "base/clock.hpp"
#include "base/timer_wheel.hpp"
#include "http1/message.hpp"

namespace onceguard::admin {

using stream_socket = boost::asio::generic::stream_protocol::socket;

/// Belongs to the thread of the io_context.
class connection final : private base::deadline {
 public:
  static constexpr std::size_t body_size_max = 1u << 20;

  connection(stream_socket socket, boost::asio::io_context& io);

  /// Reads a head. False: the connection is over, or the head was refused.
  boost::asio::awaitable<bool> read_head();
  [[nodiscard]] const http1::head& head() const noexcept { return reader_.head(); }
  /// Reads the body into `out`. False: as above.
  boost::asio::awaitable<bool> read_body(std::string& out);
  /// Sends an answer. False: the connection is over.
  boost::asio::awaitable<bool> send(const response& answer);
  /// After a whole request: ready for the next one.
  void reset() { reader_.reset(); }

  /// While its request is carried out, a connection waits for nobody.
  void set_busy(bool busy) noexcept {
    busy_ = busy;
    waits_since_ = base::boot_now();
  }
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// When the wait for the client began: for its request, or that it takes the answer.
  [[nodiscard]] base::boot_clock::time_point waits_since() const noexcept { return waits_since_; }
  /// Ends it from outside: what it waits for fails.
  void close() { expired(); }

 private:
  void expired() override;
  boost::asio::awaitable<http1::progress> advance();
  boost::asio::awaitable<bool> write(std::string_view first, std::string_view second = {});
  /// After an answer that was sent before the whole request had arrived: drops the rest, so that
  /// the client receives the answer.
  boost::asio::awaitable<void> linger();

  stream_socket socket_;
  base::timer_wheel& wheel_;
  http1::reader reader_;
  std::string out_;
  base::boot_clock::time_point waits_since_ = base::boot_now();
  bool busy_ = false;
  bool head_only_ = false;
  bool keep_ = true;
};

}  // namespace onceguard::admin
