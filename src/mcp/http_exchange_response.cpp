// What an exchange does with the response of the server.
#include <boost/asio/use_awaitable.hpp>

#include "mcp/http_exchange.hpp"
#include "mcp/http_refusal.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// A client that was so far behind finds its call by its key.
constexpr std::size_t most_event_ids = 1024;

}  // namespace

void http_exchange::note_id(const sent_event& event) {
  if (client_.gone() || event.id.empty()) return;
  resumable_ = true;
  if (!call_) return;
  if (event_ids_.size() == most_event_ids) event_ids_.pop_front();
  event_ids_.push_back(event.id);
}

asio::awaitable<std::optional<std::string>> http_exchange::read_body() {
  std::string text;
  while (text.size() <= longest_answer) {
    auto piece = co_await upstream_->read_some();
    if (!piece) co_return std::nullopt;
    if (piece->empty()) co_return text;
    text += *piece;
  }
  co_return std::nullopt;
}

asio::awaitable<bool> http_exchange::relay_head(http_head head) {
  const auto status = head.status;
  // Who has not read all of a call has called no tool.
  if (call_ && (head.is_early || asks_for_credential(head))) co_await release();
  const bool legible = is_legible(head);
  if (legible && !client_.takes_no_body() && !is_bodiless(status) &&
      is_type(head, "text/event-stream"))
    co_return co_await relay_events(std::move(head));
  const bool is_message = legible && is_type(head, "application/json");
  if ((call_ || lists_tools_) && is_message) co_return co_await relay_whole(std::move(head));
  if (call_) {
    co_await end_without_response(unknown_reason::upstream_status);
    if (status < 300 || is_bodiless(status)) co_return co_await respond();
  }
  co_return co_await relay_bytes(std::move(head));
}

asio::awaitable<bool> http_exchange::relay_whole(http_head head) {
  auto text = co_await read_body();
  if (!text && !call_) {
    co_await refuse("the server's answer broke off");
    co_return false;
  }
  std::string answer;
  if (text) {
    if (call_ && refuses_message(head, *text, !session_.empty())) co_await release();
    answer = co_await take(std::move(*text));
  }
  if (call_) {
    co_await end_without_response(unknown_reason::upstream_broken);
    if (!text || head.status < 300 || is_bodiless(head.status)) {
      co_return co_await respond();
    }
  }
  co_return co_await client_.send_whole(std::move(head), std::move(answer));
}

asio::awaitable<bool> http_exchange::relay_bytes(http_head head) {
  const bool sent = co_await client_.send_head(std::move(head));
  if (!sent) co_return false;
  if (client_.takes_no_body()) co_return co_await client_.end_pieces();
  while (!client_.gone()) {
    auto piece = co_await upstream_->read_some();
    if (!piece) {
      client_.end();  // the client must not take it for whole
      co_return false;
    }
    if (piece->empty()) break;
    co_await client_.send_piece(std::move(*piece));
  }
  co_return co_await client_.end_pieces();
}

asio::awaitable<bool> http_exchange::relay_events(http_head head) {
  // Events may become longer, or more.
  head.fields.erase("Content-Length");
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
      note_id(event);
      const auto kind = event.data.empty() ? message_kind::other : read_answer(event.data).kind;
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
    broken = broken && last.empty();
    co_await client_.send_piece(std::move(last));
  } else if (!events.rest().empty()) {
    auto rest = events.rest();
    co_await client_.send_piece(std::move(rest));
  }
  if (broken && !client_.gone()) {
    client_.end();
    co_return false;
  }
  co_return co_await client_.end_pieces();
}

asio::awaitable<std::string> http_exchange::take(std::string text) {
  const auto got = read_answer(text);
  if (got.kind == message_kind::notification) {
    if (got.method == "notifications/tools/list_changed") shared_.tools.forget();
    co_return text;
  }
  if (got.kind != message_kind::response) co_return text;
  const auto id = id_value(got.id);
  if (call_ && id == id_value(call_id_)) {
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
  if (lists_tools_ && id == id_value(message_.id) && !got.result.empty()) {
    static_cast<void>(tools_->learn(got.result));
    const auto members = members_of(text);
    co_return with_value(text, *find_last(*members, "result"), tools_->described(got.result));
  }
  co_return text;
}

}  // namespace onceguard::mcp
