#include "admin/caller_connection.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;

namespace {

http1::served_limits request_limits() {
  http1::served_limits out;
  out.message.head_bytes_max = 16u << 10;
  out.body_size_max = 1u << 20;
  return out;
}

std::string head_of(const response& answer, bool keep) {
  std::string out;
  const bool has_body = answer.status != 204;  // RFC 9110, 8.6: then it has no length, either
  http1::append_status_line(out, answer.status);
  if (has_body) http1::append_field(out, "Content-Type", answer.type);
  http1::append_date(out, base::system_clock().wall_ms() / 1000);
  // What it says is for its caller alone, and of this moment.
  http1::append_field(out, "Cache-Control", "no-store");
  http1::append_field(out, "X-Content-Type-Options", "nosniff");
  out += answer.fields;
  if (has_body) http1::append_content_length(out, answer.body.size());
  if (!keep) http1::append_field(out, "Connection", "close");
  http1::append_end_of_head(out);
  return out;
}

}  // namespace

caller_connection::caller_connection(http1::stream_socket socket, asio::io_context& io)
    : served_connection(std::move(socket), io, request_limits()) {}

std::string caller_connection::answer_to_fault(std::uint16_t status, std::string_view why) {
  const auto answer = refusal(status, why);
  return head_of(answer, false) + answer.body;
}

asio::awaitable<bool> caller_connection::send(const response& answer) {
  const auto head_bytes = head_of(answer, may_be_kept());
  const std::string_view body = head().method == "HEAD" ? std::string_view() : answer.body;
  co_return co_await write(head_bytes, body, bounds().write) && may_be_kept();
}

}  // namespace onceguard::admin
