#include "mcp/http_refusal.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "http1/start_line.hpp"
#include "mcp/message.hpp"

namespace onceguard::mcp {

bool asks_for_credential(const http_head& head) {
  const auto status = head.status;
  return (status == 401 || status == 403) && !head.fields["WWW-Authenticate"].empty();
}

bool refuses_message(const http_head& head, std::string_view body, bool has_session) {
  constexpr std::array<unsigned, 5> statuses{400, 405, 406, 413, 415};
  const auto status = head.status;
  const bool suits = std::ranges::find(statuses, status) != statuses.end();
  if (!suits && !(status == 404 && has_session)) return false;
  const auto got = read_answer(body);
  return !got.error.empty() && got.result.empty() && got.id == "null";
}

bool is_redirect(const http_head& head) noexcept {
  return head.status == 307 || head.status == 308;
}

std::string redirected_to(const http_head& head, const server_address& server) {
  auto location = head.fields["Location"];
  const std::string origin = (server.tls ? "https://" : "http://") + server.authority;
  if (base::iequals(location.substr(0, origin.size()), origin))
    location.remove_prefix(origin.size());
  if (!location.starts_with('/') || location.starts_with("//")) return {};
  location = location.substr(0, location.find('#'));
  return http1::is_target(location) ? std::string(location) : std::string();
}

}  // namespace onceguard::mcp
