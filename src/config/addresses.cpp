// Parsers for addresses, URLs, hosts, paths and scopes: the functions of texts.hpp that parse
// structured texts.
#include <algorithm>
#include <charconv>
#include <optional>

#include <boost/asio/ip/address.hpp>

#include "base/field.hpp"
#include "config/texts.hpp"

namespace onceguard::config {
namespace {

error refusal(std::string description) { return {errc::invalid_argument, std::move(description)}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_ipv6(std::string_view text) {
  boost::system::error_code failed;
  boost::asio::ip::make_address_v6(std::string(text), failed);
  return !failed && text.find('%') == std::string_view::npos;  // no zones
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  unsigned port = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, port);
  if (text.empty() || failed != std::errc{} || stop != end || port > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

/// Host and port. `missing_port` is the port of a text without one, if the text may omit the port.
std::optional<gateway::endpoint> parse_authority(std::string_view text,
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
    return gateway::endpoint{std::string(host), *missing_port};
  }
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return std::nullopt;
  return gateway::endpoint{std::string(host), *port};
}

/// Why a path is not normalised; empty if it is.
std::string_view path_fault(std::string_view path) {
  const auto digit = [](char c) {
    return is_digit(c)              ? c - '0'
           : (c >= 'a' && c <= 'f') ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : -1;
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;
    if (i + 2 >= path.size() || digit(path[i + 1]) < 0 || digit(path[i + 2]) < 0) {
      return "a percent sign without two hex digits";
    }
    const auto c = static_cast<char>(digit(path[i + 1]) * 16 + digit(path[i + 2]));
    if (is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      return "an escape that is not needed (write the character itself)";
    }
    if (c == '/' || c == '\\' || c == '\0') return "an escaped slash, backslash or NUL";
  }
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") return "a dot segment";
    if (segment.empty() && !path.empty()) return "an empty segment";
    path.remove_prefix(segment.size());
  }
  return {};
}

result<scope_rule> parse_named_scope(scope_source source, std::string_view name,
                                     std::string_view text) {
  if (!is_token(name)) {
    return refusal(std::string("expected the name of a ") +
                   (source == scope_source::header ? "header field after \"header:\""
                                                   : "cookie after \"cookie:\"") +
                   ", got " + quoted(text));
  }
  std::string given(name);
  if (source == scope_source::header) {
    std::transform(given.begin(), given.end(), given.begin(), base::ascii_lower);
    if (base::same_name(given, "idempotency-key")) {
      return refusal("the idempotency key can't be its own scope, got " + quoted(text));
    }
    if (base::same_name(given.substr(0, 10), "onceguard-")) {
      return refusal("Onceguard-* headers of a client are removed and can't be a scope, got " +
                     quoted(text));
    }
  }
  return scope_rule{source, std::move(given)};
}

}  // namespace

result<gateway::endpoint> parse_endpoint(std::string_view text) {
  if (auto found = parse_authority(text, std::nullopt)) return *std::move(found);
  return refusal("expected HOST:PORT such as \"127.0.0.1:8080\" or \"[::1]:8080\", got " +
                 quoted(text));
}

result<http_url> parse_http_url(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (text.starts_with("https://")) {
    return refusal("https:// is not in this version; expected a URL with http://, got " +
                   quoted(text));
  }
  const auto wrong = [&](std::string_view why) {
    return refusal("expected a URL such as \"http://127.0.0.1:9000\"" + std::string(why) +
                   ", got " + quoted(text));
  };
  if (!text.starts_with(scheme)) return wrong("");
  if (!is_printable(text)) return wrong(" in printable ASCII without spaces");
  const auto rest = text.substr(scheme.size());
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  const auto path = rest.substr(authority.size());
  if (authority.find('@') != std::string_view::npos) return wrong(" without user and password");
  if (path.find('#') != std::string_view::npos) return wrong(" without a fragment");
  if (!path.empty() && path.front() != '/') return wrong(" with a path before the query");
  auto address = parse_authority(authority, 80);
  if (!address || address->port == 0) return wrong("");
  return http_url{*std::move(address), std::string(path)};
}

result<std::string> parse_route_host(std::string_view text) {
  const auto found = parse_authority(text, 0);
  if (!found || text.ends_with(']') != text.starts_with('[') ||
      (!text.starts_with('[') && text.find(':') != std::string_view::npos)) {
    return refusal("expected a host name or address without a port, got " + quoted(text));
  }
  std::string host(text);
  std::transform(host.begin(), host.end(), host.begin(), base::ascii_lower);
  return host;
}

result<std::string> parse_route_path(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return refusal("expected a path such as \"/v1/payments\"" + std::string(why) + ", got " +
                   quoted(text));
  };
  if (!text.starts_with('/')) return wrong(" that begins with a slash");
  if (!is_printable(text)) return wrong(" in printable ASCII without spaces");
  if (text.find_first_of("?#\\") != std::string_view::npos) {
    return wrong(" without a query, fragment or backslash");
  }
  if (const auto fault = path_fault(text); !fault.empty()) {
    return wrong(" in normal form, without " + std::string(fault));
  }
  std::string path(text);
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;  // the normal form of an escape has upper case digits
    for (const auto position : {i + 1, i + 2}) {
      if (path[position] >= 'a' && path[position] <= 'f')
        path[position] = static_cast<char>(path[position] - 'a' + 'A');
    }
  }
  return path;
}

result<scope_rule> parse_scope(std::string_view text) {
  if (text == "credential") return scope_rule{scope_source::credential, {}};
  if (text == "address") return scope_rule{scope_source::address, {}};
  if (text == "none") return scope_rule{scope_source::none, {}};
  if (text.starts_with("header:")) {
    return parse_named_scope(scope_source::header, text.substr(7), text);
  }
  if (text.starts_with("cookie:")) {
    return parse_named_scope(scope_source::cookie, text.substr(7), text);
  }
  if (text.starts_with("jwt:")) {
    return refusal(
        "jwt: scopes are not in this version; use \"header:NAME\" with a header that a trusted "
        "proxy sets, or \"credential\", got " +
        quoted(text));
  }
  return refusal(
      "expected \"credential\", \"header:NAME\", \"cookie:NAME\", \"address\" or \"none\", got " +
      quoted(text));
}

result<std::string> parse_method(std::string_view text) {
  if (!is_token(text)) return refusal("expected a method such as \"POST\", got " + quoted(text));
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    return refusal("methods are in capitals, got " + quoted(text));
  }
  return std::string(text);
}

result<std::string> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string(text.substr(0, slash)), failed);
  bool fine = !failed && text.find('%') == std::string_view::npos;
  if (fine && slash != std::string_view::npos) {
    const auto length = parse_port(text.substr(slash + 1));
    fine = length && *length <= (address.is_v4() ? 32 : 128);
  }
  if (fine) return std::string(text);
  return refusal("expected an address or block such as \"10.0.0.1\" or \"10.0.0.0/8\", got " +
                 quoted(text));
}

}  // namespace onceguard::config
