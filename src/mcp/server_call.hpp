// One exchange with the server on streamable HTTP.
#pragma once
#include <cstdint>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/error.hpp>

#include "mcp/server_connection.hpp"

namespace onceguard::mcp {

/// Bytes of an answer that is held as a whole.
inline constexpr std::size_t longest_answer = 64u << 20;

enum class connection_use : std::uint8_t {
  shared,  ///< with what came before, and what comes behind
  alone,   ///< nobody else's answer comes on it, and its end in between is none of this request
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
