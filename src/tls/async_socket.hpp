// A TCP connection of coroutines, in the clear or by TLS, whose reads and writes have deadlines.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <onceguard/record.hpp>

#include "base/timer_wheel.hpp"

namespace onceguard::tls {

class session;

using error_code = boost::system::error_code;
using tcp = boost::asio::ip::tcp;

/// The slowest permitted rate. A transfer may wait for its peer for `grace`, plus one second for
/// each `rate` bytes that were transferred. Only the time of waiting for the peer counts: delays
/// elsewhere do not count against a fast peer.
class transfer_pace {
 public:
  /// Without a rate, or with a rate of 0, any speed is permitted.
  transfer_pace() = default;
  transfer_pace(milliseconds grace, std::size_t rate) noexcept : grace_(grace), rate_(rate) {}

  /// The time that the next wait may take, at most `pause`; 0: the peer is too slow.
  [[nodiscard]] milliseconds left(milliseconds pause) const noexcept {
    if (rate_ == 0) return pause;
    const milliseconds earned(bytes_ / rate_ * 1'000 + bytes_ % rate_ * 1'000 / rate_);
    return std::clamp(grace_ + earned - waited_, milliseconds(0), pause);
  }
  void waited(milliseconds time, std::size_t for_bytes) noexcept {
    waited_ += time;
    bytes_ += for_bytes;
  }

 private:
  milliseconds grace_{0};
  std::size_t rate_ = 0;
  milliseconds waited_{0};
  std::size_t bytes_ = 0;
};

struct transfer {
  error_code failure;
  std::size_t bytes = 0;
};

/// Permits one reader and one writer at a time. A deadline that passes ends its operation with
/// boost::asio::error::timed_out, and the operation in the other direction with operation_aborted.
class async_socket final {
 public:
  async_socket(tcp::socket socket, boost::asio::io_context& io);
  ~async_socket();
  async_socket(const async_socket&) = delete;
  async_socket& operator=(const async_socket&) = delete;

  boost::asio::awaitable<error_code> connect(tcp::endpoint endpoint, milliseconds timeout);
  /// To the first one that responds. Each has its share of the time that is left, so that one that
  /// does not respond does not use up the time of the next.
  boost::asio::awaitable<error_code> connect(std::span<const boost::asio::ip::address> addresses,
                                             std::uint16_t port, milliseconds timeout);
  /// From now on everything is encrypted. First the handshake, on the side that `made` is
  /// for; its failure() says why it failed.
  boost::asio::awaitable<error_code> secure(std::unique_ptr<session> made, milliseconds timeout);
  /// Null: the connection is not encrypted.
  [[nodiscard]] const session* encryption() const noexcept { return tls_.get(); }
  /// Fails with end_of_file at a clean end; with timed_out at once if no time is left. Data that
  /// has arrived when the deadline passes is still read, because this process may have been stopped
  /// until then.
  boost::asio::awaitable<transfer> read_some(std::span<char> buffer, milliseconds timeout);
  /// Reads the data that the kernel has; would_block if there is none.
  transfer read_now(std::span<char> buffer) noexcept;
  /// Moves the deadline of the running read, if there is one.
  void limit_reading(milliseconds from_now) { reading_.move(from_now); }
  /// Writes all bytes, or fails if the peer takes nothing for `timeout`. `bytes` of the result is
  /// how much the kernel took, also on failure. The overload with one text begins to write before
  /// it is awaited.
  boost::asio::awaitable<transfer> write(std::string_view bytes, milliseconds timeout);
  /// Continues a write that `write_now` has begun.
  boost::asio::awaitable<transfer> write_on(transfer begun, std::string_view bytes,
                                            milliseconds timeout);
  boost::asio::awaitable<transfer> write(std::string_view first, std::string_view second,
                                         milliseconds timeout);
  /// Writes as much as the kernel takes at once; would_block if it takes nothing.
  transfer write_now(std::string_view bytes) noexcept;
  /// Sets the least rate at which the peer must receive, as an average over one write.
  void limit_slowness(std::size_t bytes_a_second) noexcept { least_rate_ = bytes_a_second; }
  /// From now on, the kernel buffers only a little unsent data. If many peers are slow to read the
  /// same answer, the answer is in memory once.
  void hand_over_little() noexcept;
  /// Waits until the socket is readable or writable.
  boost::asio::awaitable<error_code> wait_either(milliseconds timeout);

  /// Whether an idle connection is still open and has no unexpected data.
  [[nodiscard]] bool quiet_and_open() noexcept;
  /// Whether the peer has closed its direction or the connection, even if unread data is left.
  [[nodiscard]] bool peer_has_left() noexcept;
  /// Whether the connection is broken in both directions, as by a reset.
  [[nodiscard]] bool is_broken() noexcept;
  /// Closes the sending direction; the socket can still read.
  void shut_sending() noexcept;
  void close() noexcept;
  /// Ends the connection with a reset: the kernel drops its unsent data, and the peer can't take
  /// the part that arrived for the whole.
  void abort() noexcept;
  /// Ends a running read or write with operation_aborted.
  void cancel() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  [[nodiscard]] tcp::socket& raw() noexcept { return socket_; }

 private:
  /// The deadline of one direction.
  class limit final : public base::deadline {
   public:
    explicit limit(async_socket& socket) : socket_(socket) {}
    void begin(milliseconds timeout) {
      passed_ = false;
      arm(socket_.wheel_, timeout);
    }
    void move(milliseconds timeout) {
      if (armed()) arm(socket_.wheel_, timeout);
    }
    [[nodiscard]] error_code end(error_code failure) noexcept;

   private:
    void expired() override {
      passed_ = true;
      socket_.cancel();
    }
    async_socket& socket_;
    bool passed_ = false;
  };

  boost::asio::awaitable<transfer> read_encrypted(std::span<char> target, milliseconds timeout);
  boost::asio::awaitable<void> write_encrypted(std::string_view rest, milliseconds timeout,
                                               transfer& out);
  boost::asio::awaitable<error_code> wait_for(bool readable);
  void close_silently() noexcept;
  template <class Buffers>
  boost::asio::awaitable<void> write_rest(Buffers rest, milliseconds timeout, transfer& out);

  tcp::socket socket_;
  std::unique_ptr<session> tls_;   // null: none
  bool read_wants_write_ = false;  // encrypted: what the last call waits for
  bool write_wants_read_ = false;
  unsigned reads_in_a_row_ = 0;
  base::timer_wheel& wheel_;
  limit reading_{*this};
  limit writing_{*this};
  std::size_t least_rate_ = 0;
  bool hands_over_little_ = false;
};

}  // namespace onceguard::tls
