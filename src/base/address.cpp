#include "base/address.hpp"

#include <algorithm>
#include <sys/un.h>

#include <boost/asio/ip/address.hpp>

#include "base/number_in.hpp"
#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::base {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view socket_scheme = "unix:";

error address_refusal(std::string description) {
  return {errc::invalid_argument, std::move(description)};
}

bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_ipv6(std::string_view text) {
  boost::system::error_code failed;
  ip::make_address_v6(std::string(text), failed);
  return !failed && text.find('%') == std::string_view::npos;  // no zones
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  return number_in<std::uint16_t>(text);
}

/// None: a name of which only a resolver knows the address.
std::optional<ip::address> numeric_host(const std::string& host) {
  if (host == "localhost") return ip::address_v4::loopback();
  boost::system::error_code failed;
  const auto out = ip::make_address(host, failed);
  if (failed) return std::nullopt;
  return out;
}

}  // namespace

std::optional<endpoint> parse_authority(std::string_view text,
                                        std::optional<std::uint16_t> missing_port) {
  std::string_view host;
  std::string_view rest;
  const bool brackets = text.starts_with('[');
  if (brackets) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (brackets ? !is_ipv6(host) : !is_host_name(host)) return std::nullopt;
  if (rest.empty()) {
    if (!missing_port) return std::nullopt;
    return endpoint{std::string(host), *missing_port};
  }
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return std::nullopt;
  return endpoint{std::string(host), *port};
}

result<endpoint> parse_endpoint(std::string_view text) {
  if (auto found = parse_authority(text, std::nullopt)) return *std::move(found);
  return address_refusal("expected HOST:PORT such as \"127.0.0.1:8080\" or \"[::1]:8080\"");
}

std::string text_of(const endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

result<http_url> parse_http_url(std::string_view text) {
  if (text.starts_with("https://")) {
    return address_refusal("https:// is not possible here; expected a URL with http://");
  }
  return parse_web_url(text);
}

result<http_url> parse_web_url(std::string_view text) {
  const auto wrong = [](std::string_view why) {
    return address_refusal("expected a URL such as \"http://127.0.0.1:9000\"" + std::string(why));
  };
  const bool secure = text.starts_with("https://");
  if (!secure && !text.starts_with("http://")) return wrong("");
  if (!is_printable(text)) return wrong(" in printable ASCII without spaces");
  const auto url = split_url(text);
  if (url.authority->find('@') != std::string_view::npos)
    return wrong(" without user and password");
  if (url.fragment) return wrong(" without a fragment");
  if (url.path.empty() && url.query) return wrong(" with a path before the query");
  auto address = parse_authority(*url.authority, secure ? 443 : 80);
  if (!address || address->port == 0) return wrong("");
  address->secure = secure;
  std::string path(url.path);
  if (url.query) path.append("?").append(*url.query);
  return http_url{*std::move(address), std::move(path)};
}

std::string authority_of(const endpoint& endpoint) {
  const bool six = endpoint.host.find(':') != std::string::npos;
  auto out = six ? "[" + endpoint.host + "]" : endpoint.host;
  if (endpoint.port != (endpoint.secure ? 443 : 80)) out += ":" + std::to_string(endpoint.port);
  return out;
}

bool server_address::is_local() const {
  if (is_socket()) return true;
  const auto numeric = numeric_host(tcp.host);
  return numeric && numeric->is_loopback();
}

bool server_address::overlaps(const endpoint& other) const {
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

std::string server_address::text() const {
  if (is_socket()) return std::string(socket_scheme) + socket_path;
  return text_of(tcp);
}

result<server_address> parse_server_address(std::string_view text) {
  server_address out;
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

}  // namespace onceguard::base
