#include "gateway/request_body.hpp"

#include <algorithm>

#include "gateway/buffers.hpp"
#include "gateway/request_work.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

request_body::request_body(session& client)
    : client_(client), room_(client.thread().shared.budget) {}

asio::awaitable<body_arrival> request_body::receive() {
  const auto& head = client_.reader().head();
  const auto& params = client_.thread().shared.params;
  const auto longest = client_.rule().rule.policy.max_request_body;
  if (client_.request_consumed()) co_return body_arrival::whole;
  if (head.content_length.value_or(0) > longest) co_return body_arrival::too_large;
  // RFC 9110 section 10.1.1: after the check of the length, as the client keeps back a body that is
  // refused; and never to HTTP/1.0.
  if (head.expect_continue && head.minor == 1) {
    const auto sent =
        co_await client_.stream().write("HTTP/1.1 100 Continue\r\n\r\n", params.write_timeout);
    if (sent.failure) co_return body_arrival::gone;
  }
  for (;;) {
    auto got = client_.advance_now();
    if (got == http1::progress::need_more) got = co_await client_.advance(params.body_timeout);
    switch (got) {
      case http1::progress::body: {
        const auto piece = client_.reader().body();
        if (bytes_.size() + piece.size() > longest) co_return body_arrival::too_large;
        if (!make_room_for(piece.size())) co_return body_arrival::no_room;
        bytes_ += piece;
        break;
      }
      case http1::progress::end:
        co_return body_arrival::whole;
      case http1::progress::error:
        co_return body_arrival::malformed;
      case http1::progress::need_more:
      case http1::progress::head:
        co_return client_.client_too_slow() ? body_arrival::too_slow : body_arrival::gone;
    }
  }
}

/// Unfinished requests may use only a part of the budget, because any client can send one, as
/// slowly as it likes.
bool request_body::make_room_for(std::size_t more) {
  const auto needed = bytes_.size() + more;
  if (needed <= bytes_.capacity()) return true;
  const auto longest = client_.rule().rule.policy.max_request_body;
  const auto most =
      std::min<std::uint64_t>(client_.reader().head().content_length.value_or(longest), longest);
  const auto size = std::max(needed, std::min<std::size_t>(most, 2 * bytes_.capacity()));
  const auto left = left_by_uploads(client_.thread().shared.budget.bytes_max(), longest);
  if (size > small_body && !room_.grow_to(size, left)) return false;
  bytes_.reserve(size);
  return true;
}

http::refusal request_body::refusal_of(body_arrival arrived) const {
  const auto& fault = client_.reader().fault();
  http::refusal out;
  switch (arrived) {
    case body_arrival::too_large:
      return http::body_too_large(client_.rule().rule.policy);
    case body_arrival::no_room:
      out.which = http::problem::overloaded;
      out.more = buffers_full(client_, "a request that is still to come");
      break;
    case body_arrival::too_slow:
      out.which = http::problem::request_timeout;
      break;
    case body_arrival::malformed:
      out.more.detail = fault.text;
      out.more.status = fault.status;
      break;
    case body_arrival::whole:
    case body_arrival::gone:
      break;
  }
  return out;
}

void request_body::drop() {
  std::string().swap(bytes_);
  room_.clear();
}

}  // namespace onceguard::gateway
