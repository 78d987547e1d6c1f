// What a session does with messages of the server.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "mcp/raw_json.hpp"
#include "mcp/stdio_session.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// Ids of the proxy's requests begin so.
constexpr std::string_view list_id = "onceguard-";

}  // namespace

// ---- from the server

void stdio_session::take_from_server(std::string line) {
  const auto size = line.size();
  const auto message = read_answer(line);
  if (message.kind == message_kind::notification &&
      message.method == "notifications/tools/list_changed") {
    tools_.forget();
    listed_ = list_is_whole_ = false;
  }
  if (message.kind == message_kind::response) {
    const auto name = id_value(message.id);
    if (const auto found = pending_.find(name); found != pending_.end()) {
      auto taken = std::move(found->second);
      pending_.erase(found);
      begun();
      asio::co_spawn(io_, finish(std::move(taken.call), std::move(line), !taken.given_up),
                     [this](std::exception_ptr thrown) {
                       if (thrown) complain_("an answer was lost by a fault of the proxy");
                       ended();
                     });
      return from_server_->consumed(size);
    }
    open_.erase(name);
    if (take_list(message, line)) return from_server_->consumed(size);
  }
  if (!may_be_missed(message)) to_client(line);
  from_server_->consumed(size);
}

bool stdio_session::take_list(const message& response, std::string& line) {
  const auto name = id_value(response.id);
  const bool mine = !list_request_.empty() && name == id_value(list_request_);
  if (!mine && lists_.erase(name) == 0) return false;
  if (!response.result.empty()) {
    const auto cursor = tools_.learn(response.result);
    if (!mine) {
      const auto members = members_of(line);
      line = with_value(line, *find_last(*members, "result"), tools_.described(response.result));
      return false;
    }
    if (!cursor.empty()) {
      ask_for_tools(cursor);
      return true;
    }
    list_is_whole_ = true;
  }
  if (!mine) return false;
  list_request_.clear();
  listed_ = true;
  listing_.cancel();
  return true;
}

asio::awaitable<void> stdio_session::finish(running_call call, std::string line, bool tell_client) {
  // A tool that was listed when it was called may have acted, and have withdrawn itself then.
  if (call.form.is_tool && !call.is_listed &&
      end_of(read_answer(line)) == response_end::refused_call) {
    // The tool may be new: only a list that is asked for now says that there is none.
    auto meta = list_meta_;
    co_await list_tools(std::move(meta));
    call.is_listed = !list_is_whole_ || tools_.find(call.tool) != nullptr;
  }
  const auto response = co_await calls_.finish(std::move(call), std::move(line));
  if (tell_client) to_client(response);
}

asio::awaitable<void> stdio_session::give_up(running_call call, std::string id, unknown_reason why,
                                             bool tell_client) {
  const auto response = co_await calls_.give_up(std::move(call), std::move(id), why);
  if (tell_client) to_client(response);
}

void stdio_session::end_of_server() {
  server_ended_ = true;
  if (!std::exchange(input_ended_, true)) server_writer_->end();
  begun();
  for (auto& [name, call] : std::exchange(pending_, {})) {
    if (call.linger) call.linger->cancel();
    begun();
    asio::co_spawn(io_,
                   give_up(std::move(call.call), std::move(call.id),
                           unknown_reason::upstream_broken, !call.given_up),
                   [this](std::exception_ptr) { ended(); });
  }
  for (const auto& [name, id] : std::exchange(open_, {})) {
    to_client(make_response(
        id, "error", R"({"code":-32603,"message":"Onceguard: the server ended amid the call"})"));
  }
  listing_.cancel();
  patience_.cancel();
  ended();
}

// ---- the list of tools

asio::awaitable<void> stdio_session::list_tools(std::string meta) {
  if (list_request_.empty()) {
    list_meta_ = std::move(meta);
    listed_ = list_is_whole_ = false;
    listing_.expires_after(longest_listing);
    ask_for_tools({});
  }
  // Several calls may wait for the same list.
  boost::system::error_code cancelled;
  co_await listing_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (listed_ || server_ended_) co_return;
  complain_("the server did not list its tools; their hints don't count");
  listed_ = true;
  list_request_.clear();
}

void stdio_session::ask_for_tools(const std::string& cursor) {
  list_request_ = json_string(std::string(list_id) + std::to_string(++list_requests_));
  std::string params;
  if (!cursor.empty()) params += "\"cursor\":" + cursor;
  if (!list_meta_.empty()) params += (params.empty() ? "\"_meta\":" : ",\"_meta\":") + list_meta_;
  to_server(R"({"jsonrpc":"2.0","id":)" + list_request_ + R"(,"method":"tools/list","params":{)" +
            params + "}}");
}

}  // namespace onceguard::mcp
