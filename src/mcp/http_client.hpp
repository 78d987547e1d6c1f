// The response to a client on streamable HTTP, as it is written.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "mcp/http_upstream.hpp"

namespace onceguard::mcp {

/// Whether a header goes from one connection to the next (RFC 9110, section 7.6.1), and is not made
/// anew there.
[[nodiscard]] bool travels(boost::beast::http::field name) noexcept;

/// On the one thread of its io_context. Once the client is gone, nothing is written any more.
class http_client {
 public:
  /// `chunks`: the client knows them (HTTP/1.1).
  http_client(boost::asio::ip::tcp::socket& socket, bool chunks)
      : socket_(socket), knows_chunks_(chunks) {}
  http_client(const http_client&) = delete;
  http_client& operator=(const http_client&) = delete;
  ~http_client() { *alive_ = false; }

  [[nodiscard]] bool gone() const noexcept { return gone_; }
  /// Calls `left` when the client leaves, while this object lives.
  void watch(std::function<void()> left);

  /// A client that reads nothing for some seconds counts as gone from now on: what waits for it
  /// would wait for ever.
  void limit_patience() { patience_.emplace(socket_.get_executor()); }

  /// A whole response. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> reply(unsigned status, std::string body,
                                                   std::string type = "application/json");
  /// The head of a response: with its length, or in pieces. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> send_head(http_head head);
  [[nodiscard]] boost::asio::awaitable<void> send_piece(std::string piece);
  /// False: the connection can't be used any more.
  [[nodiscard]] boost::asio::awaitable<bool> end_pieces();
  [[nodiscard]] boost::asio::awaitable<void> write(std::string bytes);
  /// So that an unfinished response is not taken for a whole one.
  void close() noexcept;

 private:
  void begin_patience(std::size_t bytes);

  boost::asio::ip::tcp::socket& socket_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<boost::asio::steady_timer> patience_;
  const bool knows_chunks_;
  bool gone_ = false;
  bool chunked_ = true;
  bool until_close_ = false;  ///< the end of the connection is that of the response
};

}  // namespace onceguard::mcp
