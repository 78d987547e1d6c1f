// One request of a client on streamable HTTP, and its response.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "mcp/call_guard.hpp"
#include "mcp/caller_tools.hpp"
#include "mcp/client_connection.hpp"
#include "mcp/event_stream.hpp"
#include "mcp/message.hpp"
#include "mcp/server_call.hpp"

namespace onceguard::mcp {

/// What the exchanges of a proxy share. On the one thread of its io_context.
struct http_shared {
  boost::asio::io_context& io;
  call_guard& calls;
  caller_tools& tools;
  const server_address& upstream;
  server_connections& connections;
  const bool& local_only;      ///< the proxy listens on a loopback address
  const route_policy& policy;  ///< whose a key is
  std::function<void(const std::string&)> complain;

  /// A call whose stream ended without a response: the client may go on with another stream of its
  /// session, on which the response then comes (revision 2025-11-25).
  struct unfinished_call {
    running_call call;
    std::string id;  ///< as written
    std::unique_ptr<boost::asio::steady_timer> linger;
  };
  /// A session, and the id of a request in it, as id_value has it.
  using request_name = std::pair<std::string, std::string>;
  std::map<request_name, unfinished_call> unfinished{};
  std::set<request_name> open{};              ///< requests that have no response yet
  std::set<class http_exchange*> guarding{};  ///< those with a call that holds a lease
  std::size_t guarded = 0;                    ///< calls that hold a lease, or may get one
  bool ending = false;                        ///< no call goes on
  /// Nobody goes on with the stream of this call.
  void give_up(const request_name& name, unknown_reason why);
};

class http_exchange {
 public:
  http_exchange(http_shared& shared, client_connection& client, http_request request);
  http_exchange(const http_exchange&) = delete;
  http_exchange& operator=(const http_exchange&) = delete;
  ~http_exchange();

  /// True: the client's connection may be used for another request.
  [[nodiscard]] boost::asio::awaitable<bool> serve();
  /// Ends the wait for the server, whose answer does not count any more.
  void end() noexcept;
  /// Gives up the lease of the call, at the end of all.
  void drop_call() noexcept { call_.reset(); }

 private:
  /// A page of a browser whose name leads to a loopback address (DNS rebinding) is no client.
  [[nodiscard]] bool host_is_fine() const;
  /// The cancellation of a guarded call.
  [[nodiscard]] bool keeps_from_server() const;
  /// False: the session has an open request of this id.
  [[nodiscard]] bool open_request();
  [[nodiscard]] boost::asio::awaitable<void> admit();
  [[nodiscard]] boost::asio::awaitable<bool> relay();
  [[nodiscard]] boost::asio::awaitable<bool> relay_head(http_head head);
  /// Sends the request, also to where the server redirects it. Empty: the client was answered.
  [[nodiscard]] boost::asio::awaitable<std::optional<http_head>> ask_server();
  [[nodiscard]] boost::asio::awaitable<void> refuse(std::string why);
  /// Sends `response_` in the form that the client reads.
  [[nodiscard]] boost::asio::awaitable<bool> respond();
  [[nodiscard]] boost::asio::awaitable<bool> relay_whole(http_head head);
  [[nodiscard]] boost::asio::awaitable<bool> relay_events(http_head head);
  [[nodiscard]] boost::asio::awaitable<bool> relay_bytes(http_head head);
  /// All of the body; empty: it is too long, or broke off.
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> read_body();
  /// The message, or what the client gets in its place.
  [[nodiscard]] boost::asio::awaitable<std::string> take(std::string text);
  /// `response_` is then what the client gets; empty: the response may come on another stream.
  [[nodiscard]] boost::asio::awaitable<void> end_without_response(unknown_reason why);
  void park();
  /// Whose list of tools counts for the request.
  [[nodiscard]] std::shared_ptr<tool_table> tools_of(const struct http_caller& caller) const;
  /// Whether the client may ask for what follows this event.
  void note_id(const sent_event& event);
  /// A client goes on with a stream that we hold: the server would not let it.
  void let_go_of_streams();
  [[nodiscard]] running_call give_call();
  [[nodiscard]] boost::asio::awaitable<void> release();
  /// True: the list is whole.
  [[nodiscard]] boost::asio::awaitable<bool> list_tools();
  [[nodiscard]] boost::asio::awaitable<std::string> ask_for_tools(
      const std::string& cursor, boost::asio::steady_timer& patience);

  [[nodiscard]] http_request for_upstream(std::string target = {}) const;

  http_shared& shared_;
  client_connection& client_;
  http_request request_;
  message message_;
  std::string session_;
  bool lists_tools_ = false;
  bool resumable_ = false;  ///< the client knows the id of an event, and may ask for what follows
  std::deque<std::string> event_ids_;  ///< the last ones that the client may know
  std::optional<http_shared::request_name> opened_;
  std::string response_;  // instead of a request to the server
  std::shared_ptr<tool_table> tools_;
  bool admitting_ = false;
  std::optional<running_call> call_;
  std::string call_id_;
  std::optional<server_call> upstream_;
};

}  // namespace onceguard::mcp
