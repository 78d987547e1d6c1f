#include "mcp/http_client.hpp"

#include <chrono>
#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace onceguard::mcp {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// So long a client may take for a piece of the answer of a guarded call, and for the bytes in it.
constexpr std::chrono::seconds longest_stall{5};
constexpr std::size_t least_rate = 64u << 10;  // bytes in a second

}  // namespace

bool travels(http::field name) noexcept {
  switch (name) {
    case http::field::connection:
    case http::field::keep_alive:
    case http::field::proxy_connection:
    case http::field::te:
    case http::field::trailer:
    case http::field::transfer_encoding:
    case http::field::upgrade:
    case http::field::content_length:
    case http::field::host:
    case http::field::expect:
    case http::field::accept_encoding:  // the messages in an answer must be legible
      return false;
    default:
      return true;
  }
}

void http_client::watch(std::function<void()> left) {
  socket_.async_wait(asio::socket_base::wait_read, [this, alive = alive_, then = std::move(left)](
                                                       const boost::system::error_code& failed) {
    if (!*alive || failed) return;
    char next = 0;
    boost::system::error_code none;
    socket_.non_blocking(true, none);
    const auto got = socket_.receive(asio::buffer(&next, 1), asio::socket_base::message_peek, none);
    // The next request may be there already.
    if (got > 0 || none == asio::error::would_block) return;
    gone_ = true;
    then();
  });
}

asio::awaitable<void> http_client::write(std::string bytes) {
  if (gone_) co_return;
  if (patience_) begin_patience(bytes.size());
  boost::system::error_code failed;
  co_await asio::async_write(socket_, asio::buffer(bytes),
                             asio::redirect_error(asio::use_awaitable, failed));
  if (patience_) patience_->cancel();
  if (failed) gone_ = true;
}

void http_client::begin_patience(std::size_t bytes) {
  patience_->expires_after(longest_stall + std::chrono::seconds(bytes / least_rate));
  patience_->async_wait([this, alive = alive_](const boost::system::error_code& cancelled) {
    if (!cancelled && *alive) close();
  });
}

void http_client::close() noexcept {
  gone_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<bool> http_client::send_head(http_head head) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.result_int(),
                                 std::string(head.reason().data(), head.reason().size()));
  const auto length = head[http::field::content_length];
  chunked_ = length.empty();
  for (const auto& field : head) {
    if (!travels(field.name())) continue;
    text.append(field.name_string().data(), field.name_string().size());
    text += ": ";
    text.append(field.value().data(), field.value().size());
    text += "\r\n";
  }
  const auto status = head.result_int();
  if (status == 204 || status == 304) {
    chunked_ = false;
  } else if (chunked_ && !knows_chunks_) {
    chunked_ = false;
    until_close_ = true;
    text += "Connection: close\r\n";
  } else if (chunked_) {
    text += "Transfer-Encoding: chunked\r\n";
  } else {
    text += "Content-Length: " + std::string(length.data(), length.size()) + "\r\n";
  }
  text += "\r\n";
  co_await write(std::move(text));
  co_return !gone_;
}

asio::awaitable<void> http_client::send_piece(std::string piece) {
  if (piece.empty()) co_return;
  if (chunked_) piece = fmt::format("{:x}\r\n", piece.size()) + piece + "\r\n";
  co_await write(std::move(piece));
}

asio::awaitable<bool> http_client::end_pieces() {
  std::string end = "0\r\n\r\n";
  if (chunked_) co_await write(std::move(end));
  co_return !gone_ && !until_close_;
}

asio::awaitable<bool> http_client::reply(unsigned status, std::string body, std::string type) {
  http_head head;
  head.result(status);
  head.set(http::field::content_type, type);
  head.set(http::field::content_length, std::to_string(body.size()));
  if (!co_await send_head(std::move(head))) co_return false;
  co_await write(std::move(body));
  co_return !gone_;
}

}  // namespace onceguard::mcp
