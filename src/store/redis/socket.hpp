// Bytes to and from one server, plain or through TLS. Belongs to the thread that runs its
// io_context; at most one read and one write at a time.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "store/redis/address.hpp"

namespace onceguard::redis {

/// Certificates and keys, read once. errc::invalid_argument names the file that can't be used.
[[nodiscard]] result<std::optional<boost::asio::ssl::context>> make_tls(const address& address);

class socket {
 public:
  using error_code = boost::system::error_code;

  /// `tls` must outlive the socket; null: no TLS. `verify`: whether the server's name is checked.
  socket(boost::asio::io_context& context, endpoint endpoint, boost::asio::ssl::context* tls,
         bool verify)
      : to_(std::move(endpoint)), tls_(tls), verify_(verify), resolver_(context), tcp_(context) {}

  /// Resolves the host, tries its addresses, and does the TLS handshake.
  [[nodiscard]] boost::asio::awaitable<error_code> connect();
  /// The number of bytes that arrived. 0: the connection has ended, and `why` has the reason.
  [[nodiscard]] boost::asio::awaitable<std::size_t> read(boost::asio::mutable_buffer buffer,
                                                         error_code& why);
  [[nodiscard]] boost::asio::awaitable<error_code> write(const std::string& bytes);
  /// Ends the running operations with an error.
  void close() noexcept;

 private:
  [[nodiscard]] boost::asio::awaitable<std::vector<boost::asio::ip::tcp::endpoint>> find_address(
      error_code& why);
  [[nodiscard]] boost::asio::awaitable<error_code> shake_hands();

  const endpoint to_;
  boost::asio::ssl::context* const tls_;
  const bool verify_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket tcp_;
  bool closed_ = false;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> secure_;
};

}  // namespace onceguard::redis
