#include "gateway/params/admin_params.hpp"

#include <sys/un.h>

#include <boost/asio/ip/address.hpp>

#include "gateway/params/http_url.hpp"

namespace onceguard::gateway {

namespace {

constexpr std::string_view socket_scheme = "unix:";

}  // namespace

bool admin_address::is_local() const {
  if (is_socket() || tcp.host == "localhost") return true;
  boost::system::error_code failed;
  const auto numeric = boost::asio::ip::make_address(tcp.host, failed);
  return !failed && numeric.is_loopback();
}

std::string admin_address::text() const {
  if (is_socket()) return std::string(socket_scheme) + socket_path;
  const bool v6 = tcp.host.find(':') != std::string::npos;
  return (v6 ? "[" + tcp.host + "]" : tcp.host) + ":" + std::to_string(tcp.port);
}

result<admin_address> parse_admin_address(std::string_view text) {
  admin_address out;
  if (text.starts_with(socket_scheme)) {
    const auto path = text.substr(socket_scheme.size());
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (path.empty() || path.size() > longest || path.find('\0') != path.npos) {
      return error(errc::invalid_argument, "expected the path of a Unix socket, of at most " +
                                               std::to_string(longest) +
                                               " bytes, behind \"unix:\"");
    }
    out.socket_path = path;
    return out;
  }
  auto tcp = parse_endpoint(text);
  if (!tcp) {
    return error(errc::invalid_argument,
                 "expected HOST:PORT such as \"127.0.0.1:8081\", or "
                 "\"unix:/run/onceguard/admin.sock\"");
  }
  out.tcp = *std::move(tcp);
  return out;
}

}  // namespace onceguard::gateway
