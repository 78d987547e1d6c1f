#include "mcp/stdio_proxy.hpp"

#include <chrono>
#include <csignal>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"
#include "mcp/call_guard.hpp"
#include "mcp/lines.hpp"
#include "mcp/message.hpp"
#include "mcp/raw_json.hpp"
#include "mcp/tool_table.hpp"
#include "process/child.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

/// So long the server may take for its list of tools, before a call goes on without hints.
constexpr milliseconds longest_listing{5'000};
/// From the end of the input to SIGTERM, and from there to SIGKILL.
constexpr milliseconds grace{5'000};
/// Ids of requests of our own begin so.
constexpr std::string_view own_id = "onceguard-";

}  // namespace

/// All members are used on the one thread of the io_context, unless they say otherwise.
class stdio_proxy::session {
 public:
  session(guard& records, mcp_params params, std::vector<std::string> command,
          complaint_taker complain)
      : calls_(records, std::move(params)),
        tools_(calls_.params().argument, calls_.params().required),
        command_(std::move(command)),
        complain_(std::move(complain)) {}

  result<int> run();
  /// From any thread.
  void stop() {
    asio::post(io_, [this] {
      end_input();
      end_server();
    });
  }

 private:
  struct pending_call {
    running_call call;
    std::unique_ptr<asio::steady_timer> linger;  ///< since the client gave up
  };

  // From the client.
  void take_from_client(std::string line);
  void take_call(const message& request, std::string line);
  void take_cancellation(std::string_view id, std::string line);
  asio::awaitable<void> run_call(std::string id, std::string line);
  void end_input();
  void end_server();

  // From the server.
  void take_from_server(std::string line);
  bool take_list(const message& response, std::string& line);
  asio::awaitable<void> finish(running_call call, std::string line);
  asio::awaitable<void> give_up(running_call call, std::string id, unknown_reason why,
                                bool tell_client);
  void end_of_server();

  // The list of tools.
  asio::awaitable<void> list_tools(std::string meta);
  void ask_for_tools(const std::string& cursor);

  void to_client(std::string_view line);
  void to_server(std::string_view line);
  void begun() { ++work_; }
  void ended();
  void linger(const std::string& id, pending_call& call);

  asio::io_context io_{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keep_running_;
  call_guard calls_;
  tool_table tools_;
  const std::vector<std::string> command_;
  const complaint_taker complain_;
  std::optional<process::child> server_;
  process::descriptor server_output_;
  std::unique_ptr<line_writer> client_writer_;
  std::unique_ptr<line_writer> server_writer_;
  std::unique_ptr<line_reader> from_client_;
  std::unique_ptr<line_reader> from_server_;

  std::map<std::string, pending_call> pending_;  ///< at the server, by the id of the request
  std::map<std::string, bool> claiming_;         ///< by the id; true: cancelled meanwhile
  std::set<std::string> lists_;       ///< ids of the client's requests for the list of tools
  std::set<std::string> unguarded_;   ///< ids of calls that went on without a lease
  std::string own_list_;              ///< id of our own request for the list; empty: none
  std::string list_meta_;             ///< `_meta` of our own requests; empty: none
  asio::steady_timer patience_{io_};  ///< with a server that is to end
  asio::steady_timer listing_{io_};   ///< cancelled when the list is there
  bool listed_ = false;
  int own_requests_ = 0;
  int work_ = 0;              ///< coroutines that are under way
  bool input_ended_ = false;  ///< nothing goes to the server any more
  bool server_ended_ = false;
};

stdio_proxy::stdio_proxy(guard& records, mcp_params params, std::vector<std::string> command,
                         complaint_taker complain)
    : session_(std::make_unique<session>(records, std::move(params), std::move(command),
                                         std::move(complain))) {}
stdio_proxy::~stdio_proxy() = default;
result<int> stdio_proxy::run() { return session_->run(); }
void stdio_proxy::stop() { session_->stop(); }

// ---- the frame

result<int> stdio_proxy::session::run() {
  auto input = process::make_input_pipe();
  if (!input) return input.error();
  auto output = process::make_output_pipe();
  if (!output) return output.error();
  process::child_params params;
  params.words = command_;
  params.environment = process::environment_behind({});
  params.streams = {input->there.get(), output->there.get(), -1, -1};
  auto started = process::child::start(params);
  if (!started) {
    return error(started.error().number == ENOENT ? errc::not_found : errc::invalid_argument,
                 started.error().detail);
  }
  server_.emplace(std::move(*started));
  input->there.close();
  output->there.close();
  server_output_ = std::move(output->here);
  keep_running_.emplace(io_.get_executor());
  const auto post = [this](void (session::*take)(std::string)) {
    return [this, take](std::string line) {
      asio::post(
          io_, [this, take, text = std::move(line)]() mutable { (this->*take)(std::move(text)); });
    };
  };
  client_writer_ = std::make_unique<line_writer>(STDOUT_FILENO, [this] { stop(); });
  server_writer_ = std::make_unique<line_writer>(input->here.release(), [] {});
  from_server_ =
      std::make_unique<line_reader>(server_output_.get(), client_writer_->backlog(),
                                    post(&session::take_from_server), [this](std::string fault) {
                                      asio::post(io_, [this, why = std::move(fault)] {
                                        if (!why.empty()) complain_("the server: " + why);
                                        end_of_server();
                                      });
                                    });
  from_client_ =
      std::make_unique<line_reader>(STDIN_FILENO, server_writer_->backlog(),
                                    post(&session::take_from_client), [this](std::string fault) {
                                      asio::post(io_, [this, why = std::move(fault)] {
                                        if (!why.empty()) complain_("the client: " + why);
                                        end_input();
                                      });
                                    });
  io_.run();
  from_client_.reset();
  from_server_.reset();
  client_writer_.reset();
  server_writer_.reset();
  if (!server_->wait(base::boot_now() + grace)) server_->signal(SIGTERM);
  if (!server_->wait(base::boot_now() + grace)) server_->kill_all();
  const auto status = server_->status();
  if (!status) return 128 + SIGKILL;
  return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
}

void stdio_proxy::session::ended() {
  --work_;
  if (work_ == 0 && server_ended_) keep_running_.reset();
}

void stdio_proxy::session::to_client(std::string_view line) { client_writer_->write(line); }

void stdio_proxy::session::to_server(std::string_view line) {
  if (!input_ended_) server_writer_->write(line);
}

// ---- from the client

void stdio_proxy::session::take_from_client(std::string line) {
  const auto size = line.size();
  const auto message = read_message(line);
  if (message.kind == message_kind::request && message.method == "tools/call") {
    take_call(message, std::move(line));
  } else if (message.kind == message_kind::batch) {
    to_client(make_response("null", "error",
                            R"({"code":-32600,"message":"Onceguard: batches are not supported"})"));
  } else if (const auto id = cancelled_id(message); !id.empty()) {
    take_cancellation(id, std::move(line));
  } else {
    if (message.kind == message_kind::request && message.method == "tools/list") {
      lists_.emplace(message.id);
    }
    to_server(line);
  }
  from_client_->consumed(size);
}

void stdio_proxy::session::take_call(const message& request, std::string line) {
  std::string id(request.id);
  // A client that uses an id twice can't tell the answers apart.
  if (pending_.contains(id) || claiming_.contains(id)) {
    return to_client(make_response(
        id, "error", R"({"code":-32600,"message":"Onceguard: the id is that of a running call"})"));
  }
  claiming_[id] = false;
  begun();
  asio::co_spawn(io_, run_call(std::move(id), std::move(line)), [this](std::exception_ptr thrown) {
    if (thrown) complain_("a call was lost by a fault of the proxy");
    ended();
  });
}

asio::awaitable<void> stdio_proxy::session::run_call(std::string id, std::string line) {
  const auto message = read_message(line);
  const auto call = read_tool_call(message, tools_.argument());
  if (calls_.needs_hints(call) && tools_.find(call.name) == nullptr && !listed_) {
    std::string meta;
    const auto params = members_of(message.params);
    if (const auto* found = params ? find(*params, "_meta") : nullptr) {
      if (call.has_result_type) meta = found->text;
    }
    co_await list_tools(std::move(meta));
  }
  auto admitted = co_await calls_.admit(std::move(line), tools_.find(call.name));
  const bool cancelled = claiming_[id];
  claiming_.erase(id);
  if (!admitted.response.empty()) {
    if (!cancelled) to_client(admitted.response);
    co_return;
  }
  if (cancelled || input_ended_) {
    // It never went to the server.
    if (admitted.call) co_await calls_.release(std::move(*admitted.call));
    co_return;
  }
  if (admitted.call) {
    if (!admitted.call->lease.may_go_on()) {
      co_return co_await give_up(std::move(*admitted.call), id, unknown_reason::abandoned, true);
    }
    pending_.emplace(id, pending_call{std::move(*admitted.call), nullptr});
  } else {
    unguarded_.insert(id);
  }
  to_server(admitted.forward);
}

void stdio_proxy::session::take_cancellation(std::string_view id, std::string line) {
  const std::string name(id);
  if (const auto waiting = claiming_.find(name); waiting != claiming_.end()) {
    waiting->second = true;  // the server has not heard of it
    return;
  }
  to_server(line);
  // The server may still have done it, and may even say so: until then, nobody else runs it.
  if (const auto found = pending_.find(name); found != pending_.end()) linger(name, found->second);
}

void stdio_proxy::session::linger(const std::string& id, pending_call& call) {
  if (call.linger) return;
  call.linger = std::make_unique<asio::steady_timer>(io_, calls_.params().linger);
  call.linger->async_wait([this, id](const boost::system::error_code& cancelled) {
    const auto found = pending_.find(id);
    if (cancelled || found == pending_.end()) return;
    auto lost = std::move(found->second.call);
    pending_.erase(found);
    begun();
    asio::co_spawn(io_, give_up(std::move(lost), id, unknown_reason::upstream_timeout, false),
                   [this](std::exception_ptr) { ended(); });
  });
}

void stdio_proxy::session::end_input() {
  if (std::exchange(input_ended_, true)) return;
  server_writer_->end();
  // A server that does not end by that is ended.
  patience_.expires_after(calls_.params().linger);
  patience_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) end_server();
  });
}

void stdio_proxy::session::end_server() {
  if (server_ended_) return;
  server_->signal(SIGTERM);
  patience_.expires_after(grace);
  patience_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !server_ended_) server_->kill_all();
  });
}

// ---- from the server

void stdio_proxy::session::take_from_server(std::string line) {
  const auto size = line.size();
  const auto message = read_message(line);
  if (message.kind == message_kind::notification &&
      message.method == "notifications/tools/list_changed") {
    tools_.forget();
    listed_ = false;
  }
  if (message.kind == message_kind::response) {
    const std::string id(message.id);
    if (const auto found = pending_.find(id); found != pending_.end()) {
      auto call = std::move(found->second.call);
      pending_.erase(found);
      begun();
      asio::co_spawn(io_, finish(std::move(call), std::move(line)),
                     [this](std::exception_ptr thrown) {
                       if (thrown) complain_("an answer was lost by a fault of the proxy");
                       ended();
                     });
      return from_server_->consumed(size);
    }
    unguarded_.erase(id);
    if (take_list(message, line)) return from_server_->consumed(size);
  }
  to_client(line);
  from_server_->consumed(size);
}

bool stdio_proxy::session::take_list(const message& response, std::string& line) {
  const std::string id(response.id);
  const bool mine = !own_list_.empty() && id == own_list_;
  if (!mine && lists_.erase(id) == 0) return false;
  if (!response.result.empty()) {
    const auto cursor = tools_.learn(response.result);
    if (!mine) {
      const auto members = members_of(line);
      line = with_value(line, *find(*members, "result"), tools_.described(response.result));
      return false;
    }
    if (!cursor.empty()) {
      ask_for_tools(cursor);
      return true;
    }
  }
  if (!mine) return false;
  own_list_.clear();
  listed_ = true;
  listing_.cancel();
  return true;
}

asio::awaitable<void> stdio_proxy::session::finish(running_call call, std::string line) {
  to_client(co_await calls_.finish(std::move(call), std::move(line)));
}

asio::awaitable<void> stdio_proxy::session::give_up(running_call call, std::string id,
                                                    unknown_reason why, bool tell_client) {
  const auto response = co_await calls_.give_up(std::move(call), std::move(id), why);
  if (tell_client) to_client(response);
}

void stdio_proxy::session::end_of_server() {
  server_ended_ = true;
  if (!std::exchange(input_ended_, true)) server_writer_->end();
  begun();
  for (auto& [id, call] : std::exchange(pending_, {})) {
    const bool tell_client = call.linger == nullptr;
    if (call.linger) call.linger->cancel();
    begun();
    asio::co_spawn(io_,
                   give_up(std::move(call.call), id, unknown_reason::upstream_broken, tell_client),
                   [this](std::exception_ptr) { ended(); });
  }
  for (const auto& id : std::exchange(unguarded_, {})) {
    to_client(make_response(
        id, "error", R"({"code":-32603,"message":"Onceguard: the server ended amid the call"})"));
  }
  listing_.cancel();
  patience_.cancel();
  ended();
}

// ---- the list of tools

asio::awaitable<void> stdio_proxy::session::list_tools(std::string meta) {
  if (own_list_.empty()) {
    list_meta_ = std::move(meta);
    listing_.expires_after(longest_listing);
    ask_for_tools({});
  }
  // Several calls may wait for the same list.
  boost::system::error_code cancelled;
  co_await listing_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (listed_ || server_ended_) co_return;
  complain_("the server did not list its tools; their hints don't count");
  listed_ = true;
  own_list_.clear();
}

void stdio_proxy::session::ask_for_tools(const std::string& cursor) {
  own_list_ = json_string(std::string(own_id) + std::to_string(++own_requests_));
  std::string params;
  if (!cursor.empty()) params += "\"cursor\":" + cursor;
  if (!list_meta_.empty()) params += (params.empty() ? "\"_meta\":" : ",\"_meta\":") + list_meta_;
  to_server(R"({"jsonrpc":"2.0","id":)" + own_list_ + R"(,"method":"tools/list","params":{)" +
            params + "}}");
}

}  // namespace onceguard::mcp
