#include "store/redis/redis_params.hpp"

#include <string_view>

#include "base/url.hpp"

namespace onceguard::redis {
namespace {

error wrong_url(const std::string& description) {
  return error(errc::invalid_argument,
               "redis store: " + description +
                   "; expected redis://[user:password@]host[:port][/database][?prefix=…], "
                   "redis+sentinel://…/MASTER_NAME or redis+cluster://…, with special characters "
                   "as %XX");
}

std::optional<bool> yes_or_no(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return std::nullopt;
}

/// Removes the text up to and including the first `mark`, and returns the text before it. Empty:
/// there is no `mark`.
std::optional<std::string_view> cut_off(std::string_view& text, char mark) {
  const auto position = text.find(mark);
  if (position == std::string_view::npos) return std::nullopt;
  const auto out = text.substr(0, position);
  text.remove_prefix(position + 1);
  return out;
}

template <class Member, class Value>
bool assign(Member& target, std::optional<Value> value) {
  if (!value) return false;
  target = *std::move(value);
  return true;
}

/// False: the value is invalid. Empty: there is no such parameter.
std::optional<bool> set_parameter(address& out, std::string_view name, const std::string& value) {
  if (name == "prefix") return assign(out.prefix, std::optional(value));
  if (name == "min_replicas") return assign(out.min_replicas, number_in<std::uint32_t>(value));
  if (out.servers == deployment::sentinel) {
    if (name == "sentinel_user") return assign(out.sentinel_login.user, std::optional(value));
    if (name == "sentinel_password") {
      return assign(out.sentinel_login.password, std::optional(value));
    }
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
    if (!name) return wrong_url("a parameter without a value");
    const auto text = base::percent_decoded(value);
    if (!text) return wrong_url("a broken % in the parameter " + std::string(*name));
    const auto good = set_parameter(out, *name, *text);
    if (!good) return wrong_url("there is no parameter \"" + std::string(*name) + "\" here");
    if (!*good)
      return wrong_url("the parameter " + std::string(*name) + " has a value it can't have");
  }
  if (out.tls && out.tls->certificate.empty() != out.tls->key.empty()) {
    return wrong_url("the parameters cert and key go together");
  }
  if (out.servers == deployment::cluster && out.prefix.find('{') != std::string::npos) {
    return wrong_url("the parameter prefix can't have a { in it in a cluster");
  }
  if (!out.sentinel_login.user.empty() && out.sentinel_login.password.empty()) {
    return wrong_url("the parameter sentinel_user needs sentinel_password");
  }
  return std::nullopt;
}

std::optional<error> read_credentials(address& out, std::string_view text) {
  const auto user = cut_off(text, ':');
  if (!user) return wrong_url("a user without a password");
  if (!assign(out.login.user, base::percent_decoded(*user)) ||
      !assign(out.login.password, base::percent_decoded(text))) {
    return wrong_url("a broken % in the user or the password");
  }
  return std::nullopt;
}

std::optional<error> read_host(address& out, std::string_view text) {
  endpoint endpoint{{}, out.servers == deployment::sentinel ? "26379" : "6379"};
  std::string_view port;
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    const auto inside = cut_off(text, ']');
    if (!inside || (!text.empty() && text.front() != ':'))
      return wrong_url("a broken IPv6 address");
    endpoint.host = *inside;
    port = text.empty() ? text : text.substr(1);
  } else {
    const auto host = cut_off(text, ':');
    endpoint.host = host.value_or(text);
    if (host) port = text;
  }
  if (endpoint.host.empty()) return wrong_url("there is no host");
  if (!port.empty()) {
    if (number_in<std::uint16_t>(port).value_or(0) == 0) return wrong_url("the port is no port");
    endpoint.port = port;
  }
  out.seeds.push_back(std::move(endpoint));
  return std::nullopt;
}

std::optional<error> read_hosts(address& out, std::string_view text) {
  while (const auto one = cut_off(text, ',')) {
    if (out.servers == deployment::single)
      return wrong_url("one server is meant here, not several");
    if (auto why = read_host(out, *one)) return why;
  }
  return read_host(out, text);
}

/// Reads the part behind the hosts: with sentinels the master's name, then the database.
std::optional<error> read_path(address& out, std::string_view path) {
  if (out.servers == deployment::sentinel) {
    const auto name = cut_off(path, '/');
    if (!assign(out.master, base::percent_decoded(name.value_or(path))))
      return wrong_url("a broken % in the path");
    if (out.master.empty()) return wrong_url("the name of the master is missing");
    if (!name) path = {};
  }
  if (path.empty()) return std::nullopt;
  if (!assign(out.database, number_in<std::uint32_t>(path))) {
    return wrong_url("the database is a number");
  }
  if (out.servers == deployment::cluster && out.database != 0) {
    return wrong_url("a cluster has database 0 only");
  }
  return std::nullopt;
}

bool read_scheme(address& out, std::string_view scheme) {
  const bool known = scheme.starts_with("redis") || scheme.starts_with("valkey");
  scheme.remove_prefix(!known ? 0 : scheme.front() == 'r' ? 5 : 6);
  if (scheme.starts_with('s')) {
    out.tls.emplace();
    scheme.remove_prefix(1);
  }
  if (scheme == "+sentinel") out.servers = deployment::sentinel;
  if (scheme == "+cluster") out.servers = deployment::cluster;
  return known && (scheme.empty() || out.servers != deployment::single);
}

std::string location_of(const address& address) {
  std::string out = "redis ";
  if (address.servers == deployment::sentinel) out += "sentinel ";
  if (address.servers == deployment::cluster) out += "cluster ";
  for (const auto& each : address.seeds)
    out += (&each == &address.seeds.front() ? "" : ",") + each.text();
  if (address.servers == deployment::sentinel) out += "/" + address.master;
  if (address.servers != deployment::cluster) out += "/" + std::to_string(address.database);
  return out;
}

}  // namespace

result<address> parse_address(const std::string& url) {
  address out;
  std::string_view rest = url;
  const auto scheme = cut_off(rest, ':');
  if (!scheme || !rest.starts_with("//") || !read_scheme(out, *scheme)) {
    return wrong_url("the URL can't be read");
  }
  rest.remove_prefix(2);
  const auto query_at = rest.find('?');
  const auto query = query_at == rest.npos ? std::string_view() : rest.substr(query_at + 1);
  rest = rest.substr(0, query_at);
  const auto path_at = rest.find('/');
  const auto path = path_at == rest.npos ? std::string_view() : rest.substr(path_at + 1);
  rest = rest.substr(0, path_at);
  if (const auto position = rest.rfind('@'); position != rest.npos) {
    if (auto why = read_credentials(out, rest.substr(0, position))) return std::move(*why);
    rest.remove_prefix(position + 1);
  }
  if (auto why = read_hosts(out, rest)) return std::move(*why);
  if (auto why = read_path(out, path)) return std::move(*why);
  if (auto why = read_parameters(out, query)) return std::move(*why);
  out.name = location_of(out);
  return out;
}

}  // namespace onceguard::redis
