#include "mcp/http_exchange.hpp"

#include <array>
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t longest_answer = 64u << 20;

std::string fault_of(std::string_view id, const std::string& why) {
  return make_response(id.empty() ? "null" : id, "error",
                       R"({"code":-32603,"message":)" + json_string("Onceguard: " + why) + '}');
}

bool is_type(const http_head& head, std::string_view wanted) {
  const std::string_view type(head[http::field::content_type].data(),
                              head[http::field::content_type].size());
  return type.substr(0, type.find(';')) == wanted;
}

/// Refused before a tool ran.
bool nothing_ran(unsigned status) noexcept {
  return (status >= 400 && status < 500) || status == 501 || status == 503;
}

}  // namespace

http_exchange::http_exchange(http_shared& shared, asio::ip::tcp::socket& client,
                             http_request request)
    : shared_(shared), client_(client), request_(std::move(request)) {
  const auto session = request_["Mcp-Session-Id"];
  session_.assign(session.data(), session.size());
}

http_exchange::~http_exchange() {
  if (call_) --shared_.guarded;
}

bool http_exchange::host_is_fine() const {
  if (!shared_.local_only) return true;
  const auto field = request_[http::field::host];
  std::string_view host(field.data(), field.size());
  if (host.starts_with('[')) return host.starts_with("[::1]");
  host = host.substr(0, host.find(':'));
  boost::system::error_code none;
  const auto address = asio::ip::make_address_v4(std::string(host), none);
  return host == "localhost" || (!none && address.is_loopback());
}

asio::awaitable<bool> http_exchange::serve() {
  if (!host_is_fine()) {
    auto fault = fault_of("null", "the header Host names another machine");
    co_return co_await client_.reply(403, std::move(fault));
  }
  if (request_.method() == http::verb::post) {
    message_ = read_message(request_.body());
    if (auto refusal = refusal_of(message_); !refusal.empty()) {
      co_return co_await client_.reply(400, std::move(refusal));
    }
    lists_tools_ = message_.kind == message_kind::request && message_.method == "tools/list";
    if (message_.kind == message_kind::request && message_.method == "tools/call") co_await admit();
  }
  if (!response_.empty()) co_return co_await client_.reply(200, std::move(response_));
  co_return co_await relay();
}

asio::awaitable<void> http_exchange::admit() {
  const auto call = read_tool_call(message_, shared_.tools.argument());
  if (shared_.calls.needs_hints(call) && shared_.tools.find(call.name) == nullptr) {
    co_await list_tools();
  }
  std::string caller;
  if (const auto credential = request_[http::field::authorization]; !credential.empty()) {
    // Keys never cross callers.
    caller = '\n' + std::string(credential.data(), credential.size());
  }
  auto admitted = co_await shared_.calls.admit(request_.body(), shared_.tools.find(call.name),
                                               std::move(caller));
  response_ = std::move(admitted.response);
  if (!response_.empty()) co_return;
  call_id_ = message_.id;
  if (admitted.call) {
    call_.emplace(std::move(*admitted.call));
    ++shared_.guarded;
  }
  request_.body() = std::move(admitted.forward);
  message_ = read_message(request_.body());
}

http_request http_exchange::for_upstream() const {
  // Other paths have a meaning of their own, as /.well-known/oauth-protected-resource.
  const auto target =
      request_.target() == "/" ? shared_.upstream.target : std::string(request_.target());
  http_request out(request_.method(), target, 11);
  for (const auto& field : request_) {
    if (travels(field.name())) out.insert(field.name_string(), field.value());
  }
  out.set(http::field::host, shared_.upstream.authority);
  out.set(http::field::connection, "close");
  out.body() = request_.body();
  if (request_.method() == http::verb::post || !request_.body().empty()) out.prepare_payload();
  return out;
}

asio::awaitable<bool> http_exchange::relay() {
  upstream_ = http_upstream::make(shared_.io, shared_.upstream);
  // A client that leaves ends what is not guarded: nobody else would end a long stream.
  client_.watch([this] {
    if (!call_) upstream_->close();
  });
  if (const auto connected = co_await upstream_->connect(); !connected) {
    if (call_) {
      co_await release();
    }
    shared_.complain(connected.error().detail);
    co_return co_await client_.reply(502, fault_of(message_.id, connected.error().detail));
  }
  if (call_ && !call_->lease.may_go_on()) {
    co_await end_without_response(unknown_reason::abandoned);
    co_return co_await client_.reply(200, std::move(response_));
  }
  auto got = co_await upstream_->exchange(for_upstream());
  if (!got) {
    if (!call_) co_return co_await client_.reply(502, fault_of(message_.id, got.error().detail));
    co_await end_without_response(unknown_reason::upstream_broken);
    co_return co_await client_.reply(200, std::move(response_));
  }
  auto head = std::move(got->value);
  const auto status = head.result_int();
  if (call_ && nothing_ran(status)) {
    co_await release();
  }
  if (is_type(head, "text/event-stream")) co_return co_await relay_events(std::move(head));
  const bool is_message = is_type(head, "application/json");
  if ((call_ || lists_tools_) && is_message) co_return co_await relay_whole(std::move(head));
  if (call_) {
    co_await end_without_response(unknown_reason::upstream_status);
    if (status < 300) co_return co_await client_.reply(200, std::move(response_));
  }
  co_return co_await relay_bytes(std::move(head));
}

asio::awaitable<bool> http_exchange::relay_whole(http_head head) {
  std::string text;
  while (text.size() <= longest_answer) {
    auto piece = co_await upstream_->read_some();
    if (!piece || piece->empty()) {
      if (!piece) text.clear();
      break;
    }
    text += *piece;
  }
  if (read_message(text).kind != message_kind::response) {
    if (!call_)
      co_return co_await client_.reply(502, fault_of(message_.id, "the answer is no message"));
    co_await end_without_response(unknown_reason::upstream_broken);
    co_return co_await client_.reply(200, std::move(response_));
  }
  auto answer = co_await take(std::move(text));
  if (call_) {
    co_await end_without_response(unknown_reason::upstream_broken);
    if (!response_.empty()) answer = response_;
  }
  head.set(http::field::content_length, std::to_string(answer.size()));
  if (!co_await client_.send_head(std::move(head))) co_return false;
  co_await client_.write(std::move(answer));
  co_return !client_.gone();
}

asio::awaitable<bool> http_exchange::relay_bytes(http_head head) {
  const bool has_body =
      head.result_int() != 204 && head.result_int() != 304 && request_.method() != http::verb::head;
  if (!co_await client_.send_head(std::move(head))) co_return false;
  if (!has_body) co_return !client_.gone();
  while (!client_.gone()) {
    auto piece = co_await upstream_->read_some();
    if (!piece) {
      client_.close();  // the client must not take it for whole
      co_return false;
    }
    if (piece->empty()) break;
    co_await client_.send_piece(std::move(*piece));
  }
  co_return co_await client_.end_pieces();
}

asio::awaitable<bool> http_exchange::relay_events(http_head head) {
  static_cast<void>(co_await client_.send_head(std::move(head)));
  event_stream events;
  sent_event event;
  bool broken = false;
  // A guarded call goes on without its client.
  while (!client_.gone() || call_) {
    auto piece = co_await upstream_->read_some();
    broken = !piece || events.too_long();
    if (broken || piece->empty()) break;
    events.add(*piece);
    while (events.next(event)) {
      const auto kind = event.data.empty() ? message_kind::other : read_message(event.data).kind;
      if (kind == message_kind::response || kind == message_kind::notification) {
        const auto text = co_await take(event.data);
        // gcc 12 destroys what a conditional expression has made beside co_await twice.
        auto bytes = std::move(event.bytes);
        if (text != event.data) {
          event.bytes = bytes;
          bytes = with_data(event, text);
        }
        co_await client_.send_piece(std::move(bytes));
      } else {
        co_await client_.send_piece(std::move(event.bytes));
      }
    }
  }
  if (call_) {
    co_await end_without_response(unknown_reason::upstream_broken);
    auto last = response_.empty() ? std::string() : "data: " + response_ + "\n\n";
    co_await client_.send_piece(std::move(last));
  } else if (!events.rest().empty()) {
    auto rest = events.rest();
    co_await client_.send_piece(std::move(rest));
  }
  if (broken && !client_.gone()) {
    client_.close();
    co_return false;
  }
  co_return co_await client_.end_pieces();
}

asio::awaitable<std::string> http_exchange::take(std::string text) {
  const auto got = read_message(text);
  if (got.kind == message_kind::notification) {
    if (got.method == "notifications/tools/list_changed") shared_.tools.forget();
    co_return text;
  }
  const std::string id(got.id);
  if (call_ && id == call_id_) {
    auto call = give_call();
    auto answer = co_await shared_.calls.finish(std::move(call), std::move(text));
    --shared_.guarded;
    co_return answer;
  }
  const auto unfinished = shared_.unfinished.find({session_, id});
  if (unfinished != shared_.unfinished.end()) {
    auto call = std::move(unfinished->second.call);
    shared_.unfinished.erase(unfinished);
    auto answer = co_await shared_.calls.finish(std::move(call), std::move(text));
    --shared_.guarded;
    co_return answer;
  }
  if (lists_tools_ && id == message_.id && !got.result.empty()) {
    static_cast<void>(shared_.tools.learn(got.result));
    const auto members = members_of(text);
    co_return with_value(text, *find(*members, "result"), shared_.tools.described(got.result));
  }
  co_return text;
}

asio::awaitable<void> http_exchange::end_without_response(unknown_reason why) {
  auto call = give_call();
  if (session_.empty()) {
    response_ = co_await shared_.calls.give_up(std::move(call), call_id_, why);
    --shared_.guarded;
    co_return;
  }
  const std::pair name(session_, call_id_);
  auto timer = std::make_unique<asio::steady_timer>(shared_.io, shared_.calls.params().linger);
  auto give_up = [&shared = shared_, name, why](const boost::system::error_code& cancelled) {
    const auto found = shared.unfinished.find(name);
    if (cancelled || found == shared.unfinished.end()) return;
    auto lost = std::move(found->second.call);
    shared.unfinished.erase(found);
    asio::co_spawn(shared.io, shared.calls.give_up(std::move(lost), name.second, why),
                   [&shared](std::exception_ptr, const std::string&) { --shared.guarded; });
  };
  timer->async_wait(std::move(give_up));
  shared_.unfinished.erase(name);
  shared_.unfinished.emplace(name, http_shared::unfinished_call{std::move(call), std::move(timer)});
}

running_call http_exchange::give_call() {
  auto out = std::move(*call_);
  call_.reset();
  return out;
}

asio::awaitable<void> http_exchange::release() {
  auto call = give_call();
  co_await shared_.calls.release(std::move(call));
  --shared_.guarded;
}

// ---- the list of tools

asio::awaitable<void> http_exchange::list_tools() {
  std::string cursor;
  for (int pages = 0; pages < 100; ++pages) {
    const auto result = co_await ask_for_tools(cursor);
    if (result.empty()) {
      shared_.complain("the server did not list its tools; their hints don't count");
      co_return;
    }
    cursor = shared_.tools.learn(result);
    if (cursor.empty()) co_return;
  }
}

asio::awaitable<std::string> http_exchange::ask_for_tools(const std::string& cursor) {
  std::string params = cursor.empty() ? "" : "\"cursor\":" + cursor;
  const auto members = members_of(message_.params);
  const auto* meta = members ? find(*members, "_meta") : nullptr;
  if (meta != nullptr) {
    params += params.empty() ? "\"_meta\":" : ",\"_meta\":";
    params += meta->text;
  }
  auto request = for_upstream();
  request.body() =
      R"({"jsonrpc":"2.0","id":"onceguard-tools","method":"tools/list","params":{)" + params + "}}";
  // As the revision 2026-07-28 has it, a message's method stands in a header, too.
  if (!request["Mcp-Method"].empty()) request.set("Mcp-Method", "tools/list");
  request.erase("Mcp-Name");
  request.prepare_payload();
  const auto upstream = http_upstream::make(shared_.io, shared_.upstream);
  const auto connected = co_await upstream->connect();
  if (!connected) co_return std::string();
  const auto head = co_await upstream->exchange(request);
  if (!head || head->value.result_int() >= 300) co_return std::string();
  const bool in_events = is_type(head->value, "text/event-stream");
  event_stream events;
  sent_event event;
  std::string text;
  while (text.size() < longest_answer && !events.too_long()) {
    const auto piece = co_await upstream->read_some();
    if (!piece) co_return std::string();
    if (piece->empty()) break;
    if (!in_events) {
      text += *piece;
      continue;
    }
    events.add(*piece);
    while (events.next(event)) {
      const auto got = read_message(event.data);
      if (got.kind == message_kind::response) co_return std::string(got.result);
    }
  }
  co_return std::string(read_message(text).result);
}

}  // namespace onceguard::mcp
