#include "gateway/params/admin_params.hpp"

#include <optional>
#include <sys/un.h>

#include <boost/asio/ip/address.hpp>

#include "gateway/params/http_url.hpp"

namespace onceguard::gateway {

namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view socket_scheme = "unix:";

/// None: a name of which only a resolver knows the address.
std::optional<ip::address> numeric_host(const std::string& host) {
  if (host == "localhost") return ip::address_v4::loopback();
  boost::system::error_code failed;
  const auto out = ip::make_address(host, failed);
  if (failed) return std::nullopt;
  return out;
}

}  // namespace

bool admin_address::is_local() const {
  if (is_socket()) return true;
  const auto numeric = numeric_host(tcp.host);
  return numeric && numeric->is_loopback();
}

bool admin_address::overlaps(const endpoint& other) const {
  if (is_socket() || tcp.port == 0 || tcp.port != other.port) return false;
  if (tcp.host == other.host) return true;
  const auto one = numeric_host(tcp.host);
  const auto two = numeric_host(other.host);
  if (!one || !two) return false;
  // A listener at [::] takes IPv4 too.
  const auto covers = [](const auto& all, const auto& each) {
    return all.is_unspecified() && (all.is_v6() || each.is_v4());
  };
  return *one == *two || covers(*one, *two) || covers(*two, *one);
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
