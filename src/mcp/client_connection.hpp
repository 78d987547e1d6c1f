// The response to a client on streamable HTTP, as it is written.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "http1/server/served_connection.hpp"
#include "mcp/http_message.hpp"

namespace onceguard::mcp {

/// On the one thread of its io_context. Once the client is gone, nothing is written any more.
class client_connection final : public http1::served_connection {
 public:
  client_connection(http1::stream_socket socket, boost::asio::io_context& io);
  ~client_connection() override { *alive_ = false; }

  /// The next request; the parts of the response to the last one are forgotten. False: the
  /// connection is over.
  [[nodiscard]] boost::asio::awaitable<bool> read_request(http_request& out);
  [[nodiscard]] bool gone() const noexcept { return gone_; }
  /// The IP address; empty: it is gone.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Calls `left` when the client leaves, until `left` was called or end_watch().
  void watch(std::function<void()> left);
  void end_watch() noexcept { watching_.reset(); }

  /// A client that reads nothing for some seconds counts as gone from now on: what waits for it
  /// would wait for ever.
  void limit_patience() noexcept { patient_ = false; }

  /// A whole response. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> reply(unsigned status, std::string body,
                                                   std::string type = "application/json");
  [[nodiscard]] boost::asio::awaitable<bool> send_whole(http_head head, std::string body);
  /// Of the request, and then of the head that was sent: nothing may stand behind it.
  [[nodiscard]] bool takes_no_body() const noexcept { return bodiless_; }
  /// The head of a response: with its length, or in pieces. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> send_head(http_head head);
  [[nodiscard]] boost::asio::awaitable<void> send_piece(std::string piece);
  /// False: the connection can't be used any more.
  [[nodiscard]] boost::asio::awaitable<bool> end_pieces();
  /// So that an unfinished response is not taken for a whole one.
  void end() noexcept;
  /// Behind a whole response: whether the next request may follow.
  [[nodiscard]] bool takes_another() const noexcept { return !gone_ && may_be_kept(); }
  void shut_sending() noexcept;

 private:
  [[nodiscard]] boost::asio::awaitable<void> send(std::string bytes);
  [[nodiscard]] std::string answer_to_fault(std::uint16_t status, std::string_view why) override;

  const std::string address_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<std::function<void()>> watching_;
  bool patient_ = true;
  bool knows_chunks_ = true;
  bool gone_ = false;
  bool bodiless_ = false;
  bool chunked_ = true;
  bool until_close_ = false;  ///< the end of the connection is that of the response
};

}  // namespace onceguard::mcp
