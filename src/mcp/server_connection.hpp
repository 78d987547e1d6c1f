// Connections to the server on streamable HTTP, in the clear or by TLS, and those that are kept.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "http1/message.hpp"
#include "mcp/http_message.hpp"
#include "mcp/server_address.hpp"
#include "tls/async_socket.hpp"

namespace onceguard::mcp {

/// On the one thread of its io_context.
class server_connection {
 public:
  server_connection(boost::asio::io_context& io, server_address address);
  server_connection(const server_connection&) = delete;
  server_connection& operator=(const server_connection&) = delete;

  /// See server_call.
  [[nodiscard]] boost::asio::awaitable<result<void>> connect();
  [[nodiscard]] boost::asio::awaitable<result<http_head>> exchange(const http_request& request);
  [[nodiscard]] boost::asio::awaitable<result<std::string>> read_some();
  void close() noexcept;

  /// Whether another request may follow the response that has ended.
  [[nodiscard]] bool may_be_kept() const noexcept { return keep_ && stream_.is_open(); }
  void begin_anew();
  [[nodiscard]] base::boot_clock::time_point last_use() const noexcept { return last_use_; }
  /// Nothing came that nobody asked for, the end least of all.
  [[nodiscard]] bool is_quiet() noexcept;

 private:
  [[nodiscard]] boost::asio::awaitable<result<void>> secure(milliseconds within);
  /// Sends what is left, until bytes of an answer come in between. `timed_out`: the server reads
  /// no more.
  [[nodiscard]] boost::asio::awaitable<tls::error_code> send(std::string_view& rest);
  /// The next step of the response that asks for something; `why`: of an error.
  [[nodiscard]] boost::asio::awaitable<http1::progress> advance(std::string& why);

  const server_address address_;
  boost::asio::ip::tcp::resolver resolver_;
  tls::async_socket stream_;
  http1::reader reader_{http1::reader::kind::answer, http1::limits{}};
  base::boot_clock::time_point last_use_;
  bool keep_ = false;
};

using server_connection_ptr = std::unique_ptr<server_connection>;

/// Connections to the server that carry no exchange at the moment. On the one thread of the
/// io_context.
class server_connections {
 public:
  server_connections(boost::asio::io_context& io, const server_address& address)
      : io_(io), address_(address) {}
  server_connections(const server_connections&) = delete;
  server_connections& operator=(const server_connections&) = delete;

  /// Before the end of the io_context: none is kept any more.
  void end() noexcept;

 private:
  friend class server_call;
  /// One that was used a moment ago and shows no end, or another that is not connected yet.
  [[nodiscard]] server_connection_ptr take();
  [[nodiscard]] server_connection_ptr make();
  void keep(server_connection_ptr used);

  boost::asio::io_context& io_;
  const server_address& address_;
  std::vector<server_connection_ptr> kept_;  ///< the last used at the end
  bool ended_ = false;
};

}  // namespace onceguard::mcp
