// The frame of a session, and what comes from the client.
#include "mcp/stdio_session.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>

#include "base/clock.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// From the end of the input to SIGTERM, and from there to SIGKILL.
constexpr milliseconds grace{5'000};

}  // namespace

// ---- the frame

result<int> stdio_session::run() {
  auto input = process::make_input_pipe();
  if (!input) return input.error();
  auto output = process::make_output_pipe();
  if (!output) return output.error();
  process::child_params params;
  params.words = command_;
  params.environment = process::environment_behind({});
  params.streams = {input->there.get(), output->there.get(), -1};
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
  const auto post = [this](void (stdio_session::*take)(std::string)) {
    return [this, take](std::string line) {
      asio::post(
          io_, [this, take, text = std::move(line)]() mutable { (this->*take)(std::move(text)); });
    };
  };
  client_writer_ = std::make_unique<line_writer>(STDOUT_FILENO, [this] { stop(); });
  server_writer_ = std::make_unique<line_writer>(input->here.release(), [] {});
  from_server_ = std::make_unique<line_reader>(
      server_output_.get(), [this] { return client_writer_->is_behind() && !reads_on(); },
      post(&stdio_session::take_from_server),
      [this](std::string fault) {
        asio::post(io_, [this, why = std::move(fault)] {
          if (!why.empty()) complain_("the server: " + why);
          end_of_server();
        });
      });
  from_client_ = std::make_unique<line_reader>(
      STDIN_FILENO, [this] { return server_writer_->is_behind(); },
      post(&stdio_session::take_from_client),
      [this](std::string fault) {
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

void stdio_session::ended() {
  --work_;
  if (work_ == 0 && server_ended_) keep_running_.reset();
}

void stdio_session::to_client(std::string_view line) {
  if (!reads_on() || client_writer_->backlog() < line_reader::longest_line) {
    return client_writer_->write(line);
  }
  if (std::exchange(client_is_lost_, true)) return;
  complain_("the client reads nothing; it gets no more answers");
  end_input();
}

bool stdio_session::may_be_missed(const message& message) const {
  return message.kind == message_kind::notification && client_writer_->is_behind() && reads_on() &&
         (message.method == "notifications/progress" || message.method == "notifications/message");
}

void stdio_session::to_server(std::string_view line) {
  if (!input_ended_) server_writer_->write(line);
}

// ---- from the client

void stdio_session::take_from_client(std::string line) {
  const auto size = line.size();
  const auto message = read_message(line);
  if (const auto refusal = refusal_of(message); !refusal.empty()) {
    to_client(refusal);
  } else if (message.kind == message_kind::request) {
    take_request(message, std::move(line));
  } else if (const auto id = cancelled_id(message); !id.empty()) {
    take_cancellation(id, std::move(line));
  } else {
    to_server(line);
  }
  from_client_->consumed(size);
}

void stdio_session::take_request(const message& request, std::string line) {
  std::string name = id_value(request.id);
  // A client that uses an id twice can't tell the answers apart, and neither can we: that of
  // another request would be taken for the call's.
  if (pending_.contains(name) || claiming_.contains(name) || open_.contains(name)) {
    return to_client(make_response(
        request.id, "error",
        R"({"code":-32600,"message":"Onceguard: the id is that of a running call"})"));
  }
  if (!is_call(request, calls_.params().locations)) {
    if (request.method == "tools/list") lists_.insert(name);
    if (!input_ended_) open_.emplace(std::move(name), request.id);
    return to_server(line);
  }
  claiming_[name] = false;
  begun();
  asio::co_spawn(io_, run_call(std::move(name), std::move(line)),
                 [this](std::exception_ptr thrown) {
                   if (thrown) complain_("a call was lost by a fault of the proxy");
                   ended();
                 });
}

asio::awaitable<void> stdio_session::run_call(std::string name, std::string line) {
  const auto message = read_message(line);
  std::string id(message.id);
  const auto call = read_tool_call(message, calls_.params().locations);
  if (calls_.needs_hints(call) && tools_.find(call.name) == nullptr && !listed_) {
    std::string meta;
    const auto params = members_of(message.params);
    if (const auto* found = params ? find(*params, "_meta") : nullptr) {
      if (call.has_result_type) meta = found->text;
    }
    co_await list_tools(std::move(meta));
  }
  call_context known;
  known.hints = tools_.find(call.name);
  known.list_is_whole = list_is_whole_;
  auto admitted = co_await calls_.admit(std::move(line), std::move(known));
  const bool cancelled = claiming_[name];
  claiming_.erase(name);
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
    pending_.emplace(name, pending_call{std::move(*admitted.call), std::move(id)});
  } else {
    open_.emplace(name, std::move(id));
  }
  to_server(admitted.forward);
}

void stdio_session::take_cancellation(std::string_view id, std::string line) {
  const auto name = id_value(id);
  if (const auto waiting = claiming_.find(name); waiting != claiming_.end()) {
    waiting->second = true;  // the server does not know it
    return;
  }
  const auto found = pending_.find(name);
  if (found == pending_.end()) return to_server(line);
  // The tool goes on, and a repeat gets its result: a server that knew would answer nothing,
  // and nobody would know what it has done.
  found->second.given_up = true;
  if (!calls_.params().pass_cancellations) return;
  to_server(line);
  linger(name, found->second);
}

/// The server may still have done it, and may even say so: until then, nobody else runs it.
void stdio_session::linger(const std::string& name, pending_call& call) {
  if (call.linger) return;
  call.linger = std::make_unique<asio::steady_timer>(io_, calls_.params().linger);
  call.linger->async_wait([this, name](const boost::system::error_code& cancelled) {
    const auto found = pending_.find(name);
    if (cancelled || found == pending_.end()) return;
    auto lost = std::move(found->second);
    pending_.erase(found);
    begun();
    asio::co_spawn(
        io_,
        give_up(std::move(lost.call), std::move(lost.id), unknown_reason::upstream_timeout, false),
        [this](std::exception_ptr) { ended(); });
  });
}

void stdio_session::end_input() {
  if (std::exchange(input_ended_, true)) return;
  server_writer_->end();
  // A server that does not end by that is ended.
  patience_.expires_after(calls_.params().linger);
  patience_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) end_server();
  });
}

void stdio_session::end_server() {
  if (server_ended_) return;
  server_->signal(SIGTERM);
  patience_.expires_after(grace);
  patience_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !server_ended_) server_->kill_all();
  });
}

}  // namespace onceguard::mcp
