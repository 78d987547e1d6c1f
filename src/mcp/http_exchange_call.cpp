// The guarded call of an exchange: from its claim to the end of its lease.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "mcp/http_caller.hpp"
#include "mcp/http_exchange.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

asio::awaitable<void> http_exchange::admit() {
  admitting_ = true;
  ++shared_.guarded;
  auto caller = find_caller(request_, shared_.policy, client_.address());
  tools_ = tools_of(caller);
  const auto call = read_tool_call(message_, shared_.calls.params().locations, caller.key);
  call_context known;
  if (shared_.calls.needs_hints(call) && tools_->find(call.name) == nullptr) {
    known.list_is_whole = co_await list_tools();
  }
  known.hints = tools_->find(call.name);
  known.caller = std::move(caller.scope);
  known.caller_marks = std::move(caller.marks);
  known.transport_key = std::move(caller.key);
  known.key_fault = std::move(caller.key_fault);
  known.scope_fault = std::move(caller.scope_fault);
  auto admitted = co_await shared_.calls.admit(request_.body, std::move(known));
  admitting_ = false;
  if (admitted.call) {
    call_.emplace(std::move(*admitted.call));
    shared_.guarding.insert(this);
    client_.limit_patience();
  } else {
    --shared_.guarded;
  }
  response_ = std::move(admitted.response);
  if (!response_.empty()) co_return;
  call_id_ = message_.id;
  request_.body = std::move(admitted.forward);
  message_ = read_message(request_.body);
}

running_call http_exchange::give_call() {
  auto out = std::move(*call_);
  call_.reset();
  shared_.guarding.erase(this);
  return out;
}

asio::awaitable<void> http_exchange::release() {
  auto call = give_call();
  co_await shared_.calls.release(std::move(call));
  --shared_.guarded;
}

asio::awaitable<void> http_exchange::end_without_response(unknown_reason why) {
  // Without the id of an event, nobody can ask for the rest of the stream.
  if (!session_.empty() && resumable_ && !shared_.ending) co_return park();
  if (shared_.ending) why = unknown_reason::abandoned;
  auto call = give_call();
  response_ = co_await shared_.calls.give_up(std::move(call), call_id_, why);
  --shared_.guarded;
}

void http_shared::give_up(const request_name& name, unknown_reason why) {
  const auto found = unfinished.find(name);
  if (found == unfinished.end()) return;
  auto lost = std::move(found->second);
  unfinished.erase(found);
  asio::co_spawn(io, calls.give_up(std::move(lost.call), std::move(lost.id), why),
                 [this](std::exception_ptr, const std::string&) { --guarded; });
}

void http_exchange::park() {
  const http_shared::request_name name(session_, id_value(call_id_));
  auto timer = std::make_unique<asio::steady_timer>(shared_.io, shared_.calls.params().linger);
  auto give_up = [&shared = shared_, name](const boost::system::error_code& cancelled) {
    if (!cancelled) shared.give_up(name, unknown_reason::upstream_broken);
  };
  timer->async_wait(std::move(give_up));
  shared_.unfinished.emplace(name,
                             http_shared::unfinished_call{give_call(), call_id_, std::move(timer)});
}

}  // namespace onceguard::mcp
