// One client on this process's standard streams, and the server that serves it.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "mcp/call_guard.hpp"
#include "mcp/line_reader.hpp"
#include "mcp/line_writer.hpp"
#include "mcp/message.hpp"
#include "mcp/stdio_proxy.hpp"
#include "mcp/tool_table.hpp"
#include "process/child.hpp"

namespace onceguard::mcp {

/// All members are used on the one thread of the io_context, unless they say otherwise.
class stdio_session {
 public:
  stdio_session(guard& records, mcp_params params, std::vector<std::string> command,
                complaint_taker complain)
      : calls_(records, std::move(params)),
        tools_(calls_.params().locations, calls_.params().required),
        command_(std::move(command)),
        complain_(std::move(complain)) {}

  result<int> run();
  /// From any thread.
  void stop() {
    stopping_ = true;
    boost::asio::post(io_, [this] {
      end_input();
      end_server();
    });
  }

 private:
  struct pending_call {
    running_call call;
    std::string id;         ///< as written
    bool given_up = false;  ///< by the client, who wants no response any more
    std::unique_ptr<boost::asio::steady_timer> linger{};  ///< since the server knows
  };

  // From the client.
  void take_from_client(std::string line);
  void take_request(const message& request, std::string line);
  void take_cancellation(std::string_view id, std::string line);
  boost::asio::awaitable<void> run_call(std::string id, std::string line);
  void end_input();
  void end_server();

  // From the server.
  void take_from_server(std::string line);
  bool take_list(const message& response, std::string& line);
  boost::asio::awaitable<void> finish(running_call call, std::string line, bool tell_client);
  boost::asio::awaitable<void> give_up(running_call call, std::string id, unknown_reason why,
                                       bool tell_client);
  void end_of_server();

  // The list of tools.
  boost::asio::awaitable<void> list_tools(std::string meta);
  void ask_for_tools(const std::string& cursor);

  void to_client(std::string_view line);
  /// The server's answers are taken though the client takes none: they end calls.
  [[nodiscard]] bool reads_on() const { return stopping_ || client_writer_->is_stalled(); }
  /// What a client that reads nothing does not get.
  [[nodiscard]] bool may_be_missed(const message& message) const;
  void to_server(std::string_view line);
  void begun() { ++work_; }
  void ended();
  void linger(const std::string& name, pending_call& call);

  boost::asio::io_context io_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>>
      keep_running_;
  call_guard calls_;
  tool_table tools_;
  const std::vector<std::string> command_;
  const complaint_taker complain_;
  std::optional<process::child> server_;
  base::descriptor server_output_;
  std::unique_ptr<line_writer> client_writer_;
  std::unique_ptr<line_writer> server_writer_;
  std::unique_ptr<line_reader> from_client_;
  std::unique_ptr<line_reader> from_server_;

  // By the id of the request, as id_value has it.
  std::map<std::string, pending_call> pending_;  ///< guarded calls at the server
  std::map<std::string, bool> claiming_;         ///< true: cancelled meanwhile
  std::map<std::string, std::string> open_;  ///< other requests at the server; the id as written
  std::set<std::string> lists_;              ///< those for the list of tools
  std::string list_request_;                 ///< id of our own request for the list; empty: none
  std::string list_meta_;                    ///< `_meta` of our own requests; empty: none
  boost::asio::steady_timer patience_{io_};  ///< with a server that is to end
  boost::asio::steady_timer listing_{io_};   ///< cancelled when the list is there
  bool listed_ = false;                      ///< as far as the server lists them
  bool list_is_whole_ = false;
  int list_requests_ = 0;
  int work_ = 0;              ///< coroutines that are under way
  bool input_ended_ = false;  ///< nothing goes to the server any more
  bool server_ended_ = false;
  bool client_is_lost_ = false;  ///< it gets nothing any more
  std::atomic<bool> stopping_{false};
};

}  // namespace onceguard::mcp
