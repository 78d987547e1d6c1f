#include "store/redis/address.hpp"

#include <charconv>
#include <string_view>

#include "base/hash.hpp"

namespace onceguard::redis {
namespace {

error wrong(const std::string& what) {
  return error(errc::invalid_argument,
               "redis store: " + what +
                   "; expected redis://[user:password@]host[:port][/database][?prefix=…], with "
                   "special characters as %XX");
}

/// Of %XX; none: broken.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned char byte[1];
    if (text.size() < 3 || !base::from_hex(text.substr(1, 2), byte)) return std::nullopt;
    out += static_cast<char>(byte[0]);
    text.remove_prefix(3);
  }
  return out;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number out{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<bool> yes_or_no(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return std::nullopt;
}

/// What comes before the first `mark`, which is taken off along with it; none: it is not there.
std::optional<std::string_view> cut_off(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto out = text.substr(0, at);
  text.remove_prefix(at + 1);
  return out;
}

template <class Member, class Value>
bool assign(Member& to, std::optional<Value> value) {
  if (value) to = *std::move(value);
  return value.has_value();
}

/// False: the value does not fit; none: there is no such parameter.
std::optional<bool> set_parameter(address& out, std::string_view name, const std::string& value) {
  if (name == "prefix") return assign(out.prefix, std::optional(value));
  if (name == "min_replicas") return assign(out.min_replicas, number_in<std::uint32_t>(value));
  if (name == "functions") return assign(out.functions, yes_or_no(value));
  if (name == "connections") {
    return assign(out.connections, number_in<std::size_t>(value)) && *out.connections > 0 &&
           *out.connections <= 64;
  }
  if (!out.tls) return std::nullopt;
  if (name == "ca") return assign(out.tls->ca, std::optional(value));
  if (name == "cert") return assign(out.tls->certificate, std::optional(value));
  if (name == "key") return assign(out.tls->key, std::optional(value));
  if (name == "verify") return assign(out.tls->verify, yes_or_no(value));
  return std::nullopt;
}

std::optional<error> read_parameters(address& out, std::string_view query) {
  while (!query.empty()) {
    const auto end = query.find('&');
    auto value = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const auto name = cut_off(value, '=');
    if (!name) return wrong("a parameter without a value");
    const auto text = decoded(value);
    if (!text) return wrong("a broken % in the parameter " + std::string(*name));
    const auto good = set_parameter(out, *name, *text);
    if (!good) return wrong("there is no parameter \"" + std::string(*name) + "\" here");
    if (!*good) return wrong("the parameter " + std::string(*name) + " has a value it can't have");
  }
  if (out.tls && out.tls->certificate.empty() != out.tls->key.empty()) {
    return wrong("the parameters cert and key go together");
  }
  return std::nullopt;
}

std::optional<error> read_credentials(address& out, std::string_view text) {
  const auto user = cut_off(text, ':');
  if (!user) return wrong("a user without a password");
  if (!assign(out.user, decoded(*user)) || !assign(out.password, decoded(text))) {
    return wrong("a broken % in the user or the password");
  }
  return std::nullopt;
}

std::optional<error> read_host(address& out, std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    const auto inside = cut_off(text, ']');
    if (!inside || (!text.empty() && text.front() != ':')) return wrong("a broken IPv6 address");
    out.host = *inside;
    port = text.empty() ? text : text.substr(1);
  } else {
    const auto host = cut_off(text, ':');
    out.host = host.value_or(text);
    if (host) port = text;
  }
  if (out.host.empty()) return wrong("there is no host");
  if (port.empty()) return std::nullopt;
  if (number_in<std::uint16_t>(port).value_or(0) == 0) return wrong("the port is no port");
  out.port = port;
  return std::nullopt;
}

}  // namespace

result<address> parse_address(const std::string& url) {
  address out;
  std::string_view rest = url;
  const auto scheme = cut_off(rest, ':');
  if (!scheme || !rest.starts_with("//")) return wrong("the URL can't be read");
  if (*scheme == "rediss") out.tls.emplace();
  rest.remove_prefix(2);
  const auto query_at = rest.find('?');
  const auto query = query_at == rest.npos ? std::string_view() : rest.substr(query_at + 1);
  rest = rest.substr(0, query_at);
  const auto path_at = rest.find('/');
  auto path = path_at == rest.npos ? std::string_view() : rest.substr(path_at + 1);
  rest = rest.substr(0, path_at);
  if (const auto at = rest.rfind('@'); at != rest.npos) {
    if (auto why = read_credentials(out, rest.substr(0, at))) return std::move(*why);
    rest.remove_prefix(at + 1);
  }
  if (auto why = read_host(out, rest)) return std::move(*why);
  if (!path.empty() && !assign(out.database, number_in<std::uint32_t>(path))) {
    return wrong("the database is a number");
  }
  if (auto why = read_parameters(out, query)) return std::move(*why);
  const bool v6 = out.host.find(':') != std::string::npos;
  out.place = "redis " + (v6 ? "[" + out.host + "]" : out.host) + ":" + out.port + "/" +
              std::to_string(out.database);
  return out;
}

}  // namespace onceguard::redis
