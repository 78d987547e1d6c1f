#include "mcp/http_exchange.hpp"

#include <algorithm>

#include <boost/asio/use_awaitable.hpp>

#include "mcp/http_caller.hpp"
#include "mcp/http_refusal.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

constexpr int most_redirects = 3;

std::string error_to(std::string_view id, int code, const std::string& why) {
  return make_response(id.empty() ? "null" : id, "error",
                       "{\"code\":" + std::to_string(code) +
                           ",\"message\":" + json_string("Onceguard: " + why) + '}');
}

std::string fault_of(std::string_view id, const std::string& why) {
  return error_to(id, -32'603, why);
}

}  // namespace

http_exchange::http_exchange(http_shared& shared, client_connection& client, http_request request)
    : shared_(shared), client_(client), request_(std::move(request)) {
  session_ = request_.fields["Mcp-Session-Id"];
}

http_exchange::~http_exchange() {
  client_.end_watch();
  if (call_ || admitting_) --shared_.guarded;
  shared_.guarding.erase(this);
  if (opened_) shared_.open.erase(*opened_);
}

bool http_exchange::host_is_fine() const {
  if (!shared_.local_only) return true;
  auto host = request_.fields["Host"];
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
  if (request_.method == "POST") {
    message_ = read_message(request_.body);
    if (auto refusal = refusal_of(message_); !refusal.empty()) {
      co_return co_await client_.reply(400, std::move(refusal));
    }
    if (keeps_from_server()) {
      http_head taken;
      taken.status = 202;
      taken.fields.add("Content-Length", "0");
      co_return co_await client_.send_head(std::move(taken));
    }
    if (!open_request()) {
      auto fault = error_to(message_.id, -32'600, "the id is that of a running request");
      co_return co_await client_.reply(200, std::move(fault));
    }
    lists_tools_ = message_.kind == message_kind::request && message_.method == "tools/list";
    if (lists_tools_) tools_ = tools_of(find_caller(request_, shared_.policy, client_.address()));
    if (is_call(message_, shared_.calls.params().locations)) co_await admit();
  } else if (!request_.fields["Last-Event-ID"].empty()) {
    let_go_of_streams();
  }
  if (!response_.empty()) co_return co_await respond();
  co_return co_await relay();
}

bool http_exchange::keeps_from_server() const {
  const auto id = cancelled_id(message_);
  if (id.empty() || session_.empty() || shared_.calls.params().pass_cancellations) return false;
  // The tool goes on, and a repeat gets its result: a server that knew would answer nothing,
  // and nobody would know what it has done.
  const http_shared::request_name name(session_, id_value(id));
  return shared_.unfinished.contains(name) ||
         std::ranges::any_of(shared_.guarding,
                             [&](const auto* each) { return each->opened_ == name; });
}

bool http_exchange::open_request() {
  // Without a session, a response can only come on the stream of its request.
  if (session_.empty() || message_.kind != message_kind::request) return true;
  http_shared::request_name name(session_, id_value(message_.id));
  if (shared_.unfinished.contains(name) || !shared_.open.insert(name).second) return false;
  opened_ = std::move(name);
  return true;
}

std::shared_ptr<tool_table> http_exchange::tools_of(const http_caller& caller) const {
  if (!caller.scope_fault.empty()) return shared_.tools.of_nobody();
  std::string name = request_.target;
  for (const auto& part : {session_, caller.scope, caller.marks}) {
    name += '\n' + std::to_string(part.size()) + ':' + part;
  }
  return shared_.tools.of(name);
}

http_request http_exchange::for_upstream(std::string target) const {
  // Other paths have a meaning of their own, as /.well-known/oauth-protected-resource.
  if (target.empty()) {
    target = request_.target == "/" ? shared_.upstream.target : request_.target;
  }
  http_request out{request_.method, std::move(target)};
  out.fields.add("Host", shared_.upstream.authority);
  for (const auto& [name, value] : request_.fields) {
    if (travels(name)) out.fields.add(name, value);
  }
  // The messages in an answer must be legible.
  if (request_.method == "POST") out.fields.add("Accept-Encoding", "identity");
  out.body = request_.body;
  return out;
}

asio::awaitable<void> http_exchange::refuse(std::string why) {
  shared_.complain(why);
  auto fault = fault_of(message_.id, why);
  static_cast<void>(co_await client_.reply(502, std::move(fault)));
}

asio::awaitable<bool> http_exchange::respond() {
  const auto& streams = shared_.calls.params().locations.streams;
  auto text = std::move(response_);
  if (std::ranges::find(streams, message_.method) == streams.end()) {
    co_return co_await client_.reply(200, std::move(text));
  }
  http_head head;
  head.status = 200;
  head.fields.add("Content-Type", "text/event-stream");
  auto event = "data: " + text + "\n\n";
  co_return co_await client_.send_whole(std::move(head), std::move(event));
}

asio::awaitable<std::optional<http_head>> http_exchange::ask_server() {
  std::string target;
  for (int redirects = 0; redirects <= most_redirects; ++redirects) {
    upstream_.emplace(shared_.connections, call_ ? connection_use::alone : connection_use::shared);
    if (const auto connected = co_await upstream_->connect(); !connected) {
      if (call_) co_await release();
      co_await refuse(connected.error().detail);
      co_return std::nullopt;
    }
    // Once more, as the connect took time: from the first byte on, nobody knows whether the tool
    // ran.
    if (call_ && shared_.ending) {
      co_await release();
      co_await refuse("the proxy ends");
      co_return std::nullopt;
    }
    if (call_ && !call_->lease.may_go_on()) {
      co_await end_without_response(unknown_reason::abandoned);
      static_cast<void>(co_await respond());
      co_return std::nullopt;
    }
    auto got = co_await upstream_->exchange(for_upstream(target));
    if (!got && call_) {
      co_await end_without_response(unknown_reason::upstream_broken);
      static_cast<void>(co_await respond());
      co_return std::nullopt;
    }
    if (!got) {
      co_await refuse(got.error().detail);
      co_return std::nullopt;
    }
    if (!is_redirect(*got) || request_.method != "POST") {
      co_return std::move(*got);
    }
    // A client that followed it itself would go past the proxy, at the latest with its next
    // request: the server writes its own address there.
    target = redirected_to(*got, shared_.upstream);
    if (target.empty()) break;
  }
  if (call_) co_await release();
  co_await refuse(
      "the server redirects to another place, or to no path: --upstream must name the right one");
  co_return std::nullopt;
}

asio::awaitable<bool> http_exchange::relay() {
  // A client that leaves ends what is not guarded: nobody else would end a long stream.
  client_.watch([this] {
    if (!call_ && upstream_) upstream_->close();
  });
  auto head = co_await ask_server();
  if (!head) co_return false;
  co_return co_await relay_head(std::move(*head));
}

void http_exchange::end() noexcept {
  if (upstream_) upstream_->close();
}

void http_exchange::let_go_of_streams() {
  const auto id = request_.fields["Last-Event-ID"];
  for (auto* const each : shared_.guarding) {
    if (each->session_ == session_ && each->client_.gone() &&
        std::ranges::find(each->event_ids_, id) != each->event_ids_.end()) {
      each->end();
    }
  }
}

}  // namespace onceguard::mcp
