// A connection to one server, plain or through TLS: bytes out, replies in. Belongs to the thread
// that runs its io_context; at most one read and one write at a time.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/unique_handle.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/transport/failure.hpp"
#include "store/redis/transport/resp.hpp"

namespace onceguard::redis {

/// Certificates and keys, read once. errc::invalid_argument names the file that can't be used.
[[nodiscard]] result<std::optional<boost::asio::ssl::context>> make_tls(const address& address);

/// Before a connection is opened again: between half and all of a time that grows from 50 ms to 2
/// s, so that processes don't come back all at once. `failures`: in a row, before the last one.
[[nodiscard]] milliseconds pause_after(std::uint32_t failures);

/// What all connections of a store share. Must outlive the connections.
struct connection_context {
  boost::asio::io_context& context;
  const redis::address& address;
  boost::asio::ssl::context* tls;  ///< null: no TLS
};

/// The text of a reply. Throws if the reply is an error.
std::string text_in(const reply_ptr& got);

class connection {
 public:
  connection(const connection_context& context, endpoint endpoint);

  /// Resolves the host, tries its addresses, and does the TLS handshake.
  [[nodiscard]] boost::asio::awaitable<void> connect();
  [[nodiscard]] boost::asio::awaitable<void> log_in(const credentials& as);
  /// Sends one command and returns its reply. No other command may be in flight.
  [[nodiscard]] boost::asio::awaitable<reply_ptr> ask(std::string command);
  /// Waits for the next reply.
  [[nodiscard]] boost::asio::awaitable<reply_ptr> read_reply();

  [[nodiscard]] boost::asio::awaitable<void> write(const std::string& bytes);
  /// Waits for more bytes.
  [[nodiscard]] boost::asio::awaitable<void> receive();
  /// The next reply; null if the reply is not complete yet.
  [[nodiscard]] reply_ptr next_reply();
  /// Ends the running operation with a failure.
  void close() noexcept;
  /// Why nothing came in time, for people.
  [[nodiscard]] std::string lateness() const;

 private:
  using tcp = boost::asio::ip::tcp;
  enum class phase : std::uint8_t {
    resolving,   ///< finds the addresses of the host; found → connecting
    connecting,  ///< tries the addresses; connected → handshake or, without TLS, open
    handshake,   ///< of TLS; done → open
    open,        ///< bytes go out and in
    closed,      ///< from any of them, by close(); what runs ends with a failure
  };

  void enter(phase next);
  [[nodiscard]] boost::asio::awaitable<std::vector<tcp::endpoint>> find_address();
  [[nodiscard]] boost::asio::awaitable<void> shake_hands();

  const connection_context context_;
  const endpoint endpoint_;
  tcp::resolver resolver_;
  tcp::socket tcp_;
  std::optional<boost::asio::ssl::stream<tcp::socket&>> secure_;
  phase phase_ = phase::resolving;
  bool received_ = false;
  base::unique_handle<redisReader, redisReaderFree> reader_;
  std::array<char, 65'536> buffer_{};
};

}  // namespace onceguard::redis
