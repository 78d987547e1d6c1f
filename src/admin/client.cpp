#include "admin/client.hpp"

#include "http1/client/client.hpp"
#include "http1/message.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::admin {
namespace {

std::string bytes_of(const base::server_address& address, const client_request& request) {
  std::string out;
  http1::append_request_line(out, request.method, request.target);
  http1::append_field(out, "Host", address.is_socket() ? "localhost" : address.text());
  http1::append_field(out, "Connection", "close");
  if (!request.token.empty()) http1::append_field(out, "Authorization", "Bearer " + request.token);
  if (request.method == "POST") {
    http1::append_field(out, "Content-Type", "application/json");
    http1::append_content_length(out, request.body.size());
  }
  http1::append_end_of_head(out);
  return out + request.body;
}

}  // namespace

result<client_answer> ask(const base::server_address& address, const client_request& request,
                          milliseconds timeout) {
  auto answer =
      http1::client(address).exchange(request.method, bytes_of(address, request), timeout);
  if (!answer) return answer.error();
  return client_answer{answer->status, std::move(answer->body)};
}

error refusal_error(const base::server_address& address, std::uint16_t status, std::string detail) {
  // A sentence there; here more may follow.
  if (detail.ends_with('.')) detail.pop_back();
  detail = terminal_text(address.text() + ": " + detail);
  if (status == 404) return {errc::not_found, std::move(detail)};
  const bool out_of_reach = status == 401 || status == 403 || status == 503;
  if (out_of_reach) return {errc::store_unreachable, std::move(detail)};
  const bool of_caller = status >= 400 && status < 500;
  return {of_caller ? errc::invalid_argument : errc::conflict, std::move(detail)};
}

}  // namespace onceguard::admin
