// A TCP connection whose reads and writes have deadlines.
#pragma once
#include <chrono>
#include <span>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <onceguard/record.hpp>

#include "base/timer_wheel.hpp"

namespace onceguard::gateway {

using error_code = boost::system::error_code;
using tcp = boost::asio::ip::tcp;

struct transfer {
  error_code failure;
  std::size_t bytes = 0;
};

/// One reader and one writer at a time. A deadline that passes ends its operation with
/// boost::asio::error::timed_out, and the other direction's with operation_aborted.
class timed_socket final {
 public:
  timed_socket(tcp::socket socket, boost::asio::io_context& io);

  boost::asio::awaitable<error_code> connect(tcp::endpoint endpoint, milliseconds timeout);
  /// Failure end_of_file at a clean end; timed_out at once where no time is left. What lies there
  /// when the deadline passes is read: this process may have been stopped until then.
  boost::asio::awaitable<transfer> read_some(std::span<char> buffer, milliseconds timeout);
  /// Takes what the kernel has; would_block where it has nothing.
  transfer read_now(std::span<char> buffer) noexcept;
  /// Moves the deadline of the read that runs now (if one does).
  void limit_reading(milliseconds from_now) { reading_.move(from_now); }
  /// Writes all of it, or fails where the peer takes nothing for so long; `bytes` says how much the
  /// kernel took, also on failure. The one of a single text begins before it is awaited.
  boost::asio::awaitable<transfer> write(std::string_view bytes, milliseconds timeout);
  /// As `write`, after `write_now` has begun it.
  boost::asio::awaitable<transfer> write_on(transfer begun, std::string_view bytes,
                                            milliseconds timeout);
  boost::asio::awaitable<transfer> write(std::string_view first, std::string_view second,
                                         milliseconds timeout);
  /// Hands over what the kernel takes at once; would_block where it takes nothing.
  transfer write_now(std::string_view bytes) noexcept;
  /// Who takes less than that many bytes a second, on average over one write, takes too little.
  void limit_slowness(std::size_t bytes_a_second) noexcept { least_rate_ = bytes_a_second; }
  /// From now on the kernel gets no copy of all that a peer does not read: what many of them are
  /// sent is here once.
  void hand_over_little() noexcept;
  /// Waits until it is readable or writable.
  boost::asio::awaitable<error_code> wait_either(milliseconds timeout);

  /// A kept-alive connection on which nothing is expected: is it still open and silent?
  [[nodiscard]] bool quiet_and_open() noexcept;
  /// Has the peer ended its direction, or the connection? Also where it had sent more before.
  [[nodiscard]] bool peer_has_left() noexcept;
  /// No more will be sent; the peer may still be read from.
  void shut_sending() noexcept;
  void close() noexcept;
  /// Ends it with a reset: what the kernel has not sent yet is dropped, and nobody can take the
  /// part that arrived for the whole.
  void abort() noexcept;
  /// Ends a running read or write with operation_aborted.
  void cancel() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  [[nodiscard]] tcp::socket& raw() noexcept { return socket_; }

 private:
  /// The deadline of one direction.
  class limit final : public base::deadline {
   public:
    explicit limit(timed_socket& socket) : of_(socket) {}
    void begin(milliseconds timeout) {
      passed_ = false;
      arm(of_.wheel_, timeout);
    }
    void move(milliseconds timeout) {
      if (armed()) arm(of_.wheel_, timeout);
    }
    [[nodiscard]] error_code end(error_code failure) noexcept;

   private:
    void expired() override {
      passed_ = true;
      of_.cancel();
    }
    timed_socket& of_;
    bool passed_ = false;
  };

  template <class Buffers>
  boost::asio::awaitable<void> write_rest(Buffers rest, milliseconds timeout, transfer& out);

  tcp::socket socket_;
  base::timer_wheel& wheel_;
  limit reading_{*this};
  limit writing_{*this};
  std::size_t least_rate_ = 0;
  bool hands_over_little_ = false;
};

}  // namespace onceguard::gateway
