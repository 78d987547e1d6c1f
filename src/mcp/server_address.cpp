#include "mcp/server_address.hpp"

#include <algorithm>

#include "http1/start_line.hpp"

namespace onceguard::mcp {

result<server_address> read_server_url(const std::string& url) {
  const auto refuse = [&](const char* why) {
    return error(errc::invalid_argument, std::string("--upstream: ") + why);
  };
  server_address out;
  out.tls = url.starts_with("https://");
  if (!out.tls && !url.starts_with("http://")) return refuse("expected http://… or https://…");
  const auto rest = url.substr(out.tls ? 8 : 7);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  out.authority = rest.substr(0, end);
  out.target = rest.substr(end, rest.find('#') - end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  if (out.authority.find('@') != out.authority.npos) return refuse("a user has no place in it");
  if (!http1::is_authority(out.authority, false)) return refuse("expected http://HOST[:PORT]/PATH");
  if (!http1::is_target(out.target))
    return refuse("its path has a space or a control character, which %20 or the like stands for");
  const auto closing = out.authority.starts_with('[') ? out.authority.find(']') : 0;
  const auto colon = out.authority.find(':', closing == out.authority.npos ? 0 : closing);
  out.host = out.authority.substr(0, colon);
  if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
  out.port =
      colon == out.authority.npos ? (out.tls ? "443" : "80") : out.authority.substr(colon + 1);
  if (out.port.empty()) return refuse("expected http://HOST[:PORT]/PATH");
  return out;
}

}  // namespace onceguard::mcp
