// The server's list of tools, where an exchange needs it.
#include "mcp/event_stream.hpp"
#include "mcp/http_exchange.hpp"
#include "mcp/http_refusal.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// Ends an exchange that takes too long. Runs on the thread of the exchange.
void close_after(asio::steady_timer& patience, const std::shared_ptr<server_call>& upstream) {
  patience.async_wait([held = std::weak_ptr(upstream)](const boost::system::error_code& cancelled) {
    const auto late = held.lock();
    if (late && !cancelled) late->close();
  });
}

}  // namespace

asio::awaitable<bool> http_exchange::list_tools() {
  std::string cursor;
  asio::steady_timer patience(shared_.io, longest_listing);
  while (patience.expiry() > asio::steady_timer::clock_type::now()) {
    const auto result = co_await ask_for_tools(cursor, patience);
    if (result.empty()) {
      shared_.complain("the server did not list its tools; their hints don't count");
      co_return false;
    }
    cursor = tools_->learn(result);
    if (cursor.empty()) co_return true;
  }
  shared_.complain("the server's list of tools has no end; their hints don't count");
  co_return false;
}

asio::awaitable<std::string> http_exchange::ask_for_tools(const std::string& cursor,
                                                          asio::steady_timer& patience) {
  std::string params = cursor.empty() ? "" : "\"cursor\":" + cursor;
  const auto members = members_of(message_.params);
  const auto* meta = members ? find(*members, "_meta") : nullptr;
  if (meta != nullptr) {
    params += params.empty() ? "\"_meta\":" : ",\"_meta\":";
    params += meta->text;
  }
  auto request = for_upstream();
  request.body =
      R"({"jsonrpc":"2.0","id":"onceguard-tools","method":"tools/list","params":{)" + params + "}}";
  // As the revision 2026-07-28 has it, a message's method stands in a header, too.
  if (!request.fields["Mcp-Method"].empty()) request.fields.set("Mcp-Method", "tools/list");
  request.fields.erase("Mcp-Name");
  // What the list says decides what becomes of a call.
  const auto upstream = std::make_shared<server_call>(shared_.connections, connection_use::alone);
  close_after(patience, upstream);
  const auto connected = co_await upstream->connect();
  if (!connected) co_return std::string();
  const auto head = co_await upstream->exchange(request);
  if (!head || head->status >= 300) co_return std::string();
  const bool in_events = is_type(*head, "text/event-stream");
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
      const auto got = read_answer(event.data);
      if (got.kind == message_kind::response) co_return std::string(got.result);
    }
  }
  co_return std::string(read_answer(text).result);
}

}  // namespace onceguard::mcp
