// One request of a client on streamable HTTP, and its response.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "mcp/call_guard.hpp"
#include "mcp/event_stream.hpp"
#include "mcp/http_client.hpp"
#include "mcp/http_upstream.hpp"
#include "mcp/message.hpp"
#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

/// What the exchanges of a proxy share. On the one thread of its io_context.
struct http_shared {
  boost::asio::io_context& io;
  call_guard& calls;
  tool_table& tools;
  const upstream_address& upstream;
  const bool& local_only;  ///< the proxy listens on a loopback address
  std::function<void(const std::string&)> complain;

  /// A call whose stream ended without a response: the client may go on with another stream of its
  /// session, on which the response then comes (revision 2025-11-25).
  struct unfinished_call {
    running_call call;
    std::unique_ptr<boost::asio::steady_timer> linger;
  };
  /// By session and the id of the request.
  std::map<std::pair<std::string, std::string>, unfinished_call> unfinished{};
  std::size_t guarded = 0;  ///< calls that hold a lease
};

class http_exchange {
 public:
  http_exchange(http_shared& shared, boost::asio::ip::tcp::socket& client, http_request request);
  http_exchange(const http_exchange&) = delete;
  http_exchange& operator=(const http_exchange&) = delete;
  ~http_exchange();

  /// True: the client's connection may be used for another request.
  [[nodiscard]] boost::asio::awaitable<bool> serve();

 private:
  /// A page of a browser whose name leads to a loopback address (DNS rebinding) is no client.
  [[nodiscard]] bool host_is_fine() const;
  [[nodiscard]] boost::asio::awaitable<void> admit();
  [[nodiscard]] boost::asio::awaitable<bool> relay();
  [[nodiscard]] boost::asio::awaitable<bool> relay_whole(http_head head);
  [[nodiscard]] boost::asio::awaitable<bool> relay_events(http_head head);
  [[nodiscard]] boost::asio::awaitable<bool> relay_bytes(http_head head);
  /// The message, or what the client gets in its place.
  [[nodiscard]] boost::asio::awaitable<std::string> take(std::string text);
  [[nodiscard]] boost::asio::awaitable<void> end_without_response(unknown_reason why);
  [[nodiscard]] running_call give_call();
  [[nodiscard]] boost::asio::awaitable<void> release();
  [[nodiscard]] boost::asio::awaitable<void> list_tools();
  [[nodiscard]] boost::asio::awaitable<std::string> ask_for_tools(const std::string& cursor);

  [[nodiscard]] http_request for_upstream() const;

  http_shared& shared_;
  http_client client_;
  http_request request_;
  message message_;
  std::string session_;
  bool lists_tools_ = false;
  std::string response_;  // instead of a request to the server
  std::optional<running_call> call_;
  std::string call_id_;
  std::unique_ptr<http_upstream> upstream_;
};

}  // namespace onceguard::mcp
