#include "mcp/client_connection.hpp"

#include <chrono>

#include "base/for_ever.hpp"
#include "http1/server/listener.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// So long a client may take for a piece of the answer of a guarded call, and for the bytes in it.
constexpr std::chrono::seconds longest_stall{5};
constexpr std::size_t least_rate = 64u << 10;  // bytes in a second

/// A client may think for as long as it likes, and its calls may be long.
http1::served_limits client_limits() {
  http1::served_limits out;
  out.body_size_max = 64u << 20;
  out.idle = out.request = out.write = base::for_ever;
  return out;
}

}  // namespace

client_connection::client_connection(http1::stream_socket socket, asio::io_context& io)
    : served_connection(std::move(socket), io, client_limits()),
      address_(http1::peer_address(this->socket())) {}

std::string client_connection::answer_to_fault(std::uint16_t status, std::string_view why) {
  std::string out;
  http1::append_status_line(out, status);
  http1::append_field(out, "Content-Type", "text/plain");
  http1::append_field(out, "Connection", "close");
  http1::append_content_length(out, why.size());
  http1::append_end_of_head(out);
  return out.append(why);
}

asio::awaitable<bool> client_connection::read_request(http_request& out) {
  if (!co_await read_head()) co_return false;
  out = {std::string(head().method), std::string(head().target), head().minor >= 1};
  for (const auto& field : head().fields) out.fields.add(field.name, field.value);
  patient_ = chunked_ = true;
  until_close_ = false;
  bodiless_ = out.method == "HEAD";
  knows_chunks_ = out.knows_chunks;
  if (!co_await read_body(out.body)) co_return false;
  reset();
  co_return true;
}

void client_connection::watch(std::function<void()> left) {
  watching_ = std::make_shared<std::function<void()>>(std::move(left));
  auto notice = [this, alive = alive_,
                 watched = std::weak_ptr(watching_)](const boost::system::error_code& failed) {
    const auto then = watched.lock();
    if (!*alive || failed || !then) return;
    char next = 0;
    boost::system::error_code none;
    socket().non_blocking(true, none);
    const auto got =
        socket().receive(asio::buffer(&next, 1), asio::socket_base::message_peek, none);
    // The next request may be there already.
    if (got > 0 || none == asio::error::would_block) return;
    gone_ = true;
    (*then)();
  };
  socket().async_wait(asio::socket_base::wait_read, std::move(notice));
}

asio::awaitable<void> client_connection::send(std::string bytes) {
  if (gone_) co_return;
  const std::chrono::milliseconds within =
      patient_ ? base::for_ever : longest_stall + std::chrono::seconds(bytes.size() / least_rate);
  gone_ = !co_await write(bytes, std::string_view(), within) || gone_;
}

void client_connection::end() noexcept {
  gone_ = true;
  close();
}

void client_connection::shut_sending() noexcept {
  boost::system::error_code ignored;
  socket().shutdown(asio::socket_base::shutdown_send, ignored);
}

asio::awaitable<bool> client_connection::send_head(http_head head) {
  std::string text;
  http1::append_status_line(text, static_cast<std::uint16_t>(head.status), head.reason);
  const auto length = head.fields["Content-Length"];
  chunked_ = length.empty();
  for (const auto& [name, value] : head.fields) {
    if (travels(name)) http1::append_field(text, name, value);
  }
  const bool has_none = is_bodiless(head.status);
  bodiless_ = bodiless_ || has_none;
  if (has_none) {
    chunked_ = false;
    if (head.status == 205) http1::append_content_length(text, 0);
  } else if (chunked_ && !knows_chunks_) {
    chunked_ = false;
    until_close_ = true;
    http1::append_field(text, "Connection", "close");
  } else if (chunked_) {
    http1::append_field(text, "Transfer-Encoding", "chunked");
  } else {
    http1::append_field(text, "Content-Length", length);
  }
  http1::append_end_of_head(text);
  co_await send(std::move(text));
  co_return !gone_;
}

asio::awaitable<void> client_connection::send_piece(std::string piece) {
  if (piece.empty() || bodiless_) co_return;
  std::string bytes;
  if (chunked_) {
    http1::append_chunk(bytes, piece);
  } else {
    bytes = std::move(piece);
  }
  co_await send(std::move(bytes));
}

asio::awaitable<bool> client_connection::end_pieces() {
  std::string end;
  http1::append_last_chunk(end);
  if (chunked_ && !bodiless_) co_await send(std::move(end));
  co_return !gone_ && !until_close_;
}

asio::awaitable<bool> client_connection::reply(unsigned status, std::string body,
                                               std::string type) {
  http_head head;
  head.status = status;
  head.fields.add("Content-Type", type);
  co_return co_await send_whole(std::move(head), std::move(body));
}

asio::awaitable<bool> client_connection::send_whole(http_head head, std::string body) {
  head.fields.set("Content-Length", std::to_string(body.size()));
  const bool sent = co_await send_head(std::move(head));
  if (!sent) co_return false;
  if (!bodiless_) co_await send(std::move(body));
  co_return !gone_;
}

}  // namespace onceguard::mcp
