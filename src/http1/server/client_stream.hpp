// The bytes of a connection to a listener, in the clear or by TLS.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include "tls/context.hpp"

namespace onceguard::tls {
class session;
}  // namespace onceguard::tls

namespace onceguard::http1 {

using stream_socket = boost::asio::generic::stream_protocol::socket;

/// Belongs to the thread of the socket's io_context. Nothing here ends by itself: close() ends it.
class client_stream {
 public:
  struct transfer {
    boost::system::error_code failure;
    std::size_t bytes = 0;
  };

  /// `settings` null: in the clear.
  client_stream(stream_socket socket, const tls::context& settings);
  client_stream(const client_stream&) = delete;
  client_stream& operator=(const client_stream&) = delete;
  ~client_stream();

  /// Whether the handshake of TLS is still to be made, before anything else.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  /// False: there is no connection to serve.
  boost::asio::awaitable<bool> shake_hands();
  /// After a handshake that failed: the client speaks HTTP without TLS.
  [[nodiscard]] bool met_plain_http() const noexcept;
  boost::asio::awaitable<transfer> read_some(std::span<char> target);
  /// All of both.
  boost::asio::awaitable<boost::system::error_code> write(std::string_view first,
                                                          std::string_view second);
  /// Around TLS, if the kernel takes it at once.
  void write_in_the_clear(std::string_view bytes) noexcept;
  /// Whether the peer has ended the connection, or its direction of it, with nothing left to read.
  /// To be asked once the socket is readable.
  [[nodiscard]] bool peer_has_left() noexcept;
  /// Says that nothing more comes. What the client still sends is read with socket().
  void shut_sending() noexcept;
  void close() noexcept;
  [[nodiscard]] stream_socket& socket() noexcept { return socket_; }

 private:
  boost::asio::awaitable<transfer> read_encrypted(std::span<char> target);
  boost::asio::awaitable<boost::system::error_code> write_encrypted(std::string_view bytes);
  boost::asio::awaitable<boost::system::error_code> wait(bool readable);

  stream_socket socket_;
  tls::context settings_;              // of the session
  std::unique_ptr<tls::session> tls_;  // null: in the clear
  unsigned reads_in_a_row_ = 0;
  bool is_new_ = false;
};

}  // namespace onceguard::http1
