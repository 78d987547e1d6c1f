// One exchange with the server on streamable HTTP.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/error.hpp>

#include "mcp/http_message.hpp"

namespace onceguard::mcp {

/// Bytes of an answer that is held as a whole.
inline constexpr std::size_t longest_answer = 64u << 20;

/// Where the server is.
struct server_address {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target;     ///< path and query
  std::string authority;  ///< for the header Host
};
[[nodiscard]] result<server_address> read_server_url(const std::string& url);

class server_connection;
using server_connection_ptr = std::unique_ptr<server_connection>;

enum class connection_use : std::uint8_t {
  shared,  ///< with what came before, and what comes behind
  alone,   ///< nobody else's answer comes on it, and its end in between is none of this request
};

/// Connections to the server that carry no exchange at the moment. On the one thread of the
/// io_context.
class server_connections {
 public:
  server_connections(boost::asio::io_context& io, const server_address& address);
  server_connections(const server_connections&) = delete;
  server_connections& operator=(const server_connections&) = delete;
  ~server_connections();

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

/// A connection with one request on it. Used on the one thread of its io_context.
class server_call {
 public:
  /// `all` must outlive it.
  server_call(server_connections& all, connection_use use);
  server_call(const server_call&) = delete;
  server_call& operator=(const server_call&) = delete;
  ~server_call();

  /// Connects, unless it is connected yet. An error: nothing was sent.
  [[nodiscard]] boost::asio::awaitable<result<void>> connect();
  /// Sends the request and reads the head of the response, which may come before all is sent. An
  /// error: the request may have arrived.
  [[nodiscard]] boost::asio::awaitable<result<http_head>> exchange(const http_request& request);
  /// The next bytes of the response's body; empty text: there are no more.
  [[nodiscard]] boost::asio::awaitable<result<std::string>> read_some();
  /// Ends whatever is under way.
  void close() noexcept;

 private:
  server_connections& all_;
  const connection_use use_;
  server_connection_ptr connection_;
  bool whole_ = false;  ///< the response has ended
};

}  // namespace onceguard::mcp
