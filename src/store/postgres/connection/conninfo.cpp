#include "store/postgres/connection/conninfo.hpp"

#include <algorithm>
#include <libpq-fe.h>
#include <memory>

namespace onceguard::postgres {
namespace {

using option_map = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (;;) {
    const auto comma = list.find(',', begin);
    out.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return out;
    begin = comma + 1;
  }
}

error invalid_url(const char* why) {
  return error(errc::invalid_argument,
               std::string("postgresql store: ") + why +
                   "; expected postgresql://user@host:5432/database?option=value as libpq reads "
                   "it, with special characters as %XX");
}

/// Sets the options that the URL leaves open and that a store needs.
void set_defaults(option_map& options, milliseconds timeout) {
  const auto otherwise = [&](const char* name, std::string value) {
    options.emplace(name, std::move(value));
  };
  // Never a replica: it may lack acknowledged records, and refuses writes.
  otherwise("target_session_attrs", "read-write");
  otherwise("fallback_application_name", "onceguard");
  otherwise("client_encoding", "UTF8");
  otherwise("keepalives_idle", "10");
  otherwise("keepalives_interval", "3");
  otherwise("keepalives_count", "3");
  otherwise("tcp_user_timeout", std::to_string(2 * timeout.count()));
}

std::string find_address(const option_map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? std::string() : found->second;
}

/// The n-th entry of a list that has one entry for each host, or one entry for all hosts.
std::string nth(const std::vector<std::string>& items, std::size_t n) {
  return items.size() == 1 ? items.front() : items.at(n);
}

std::string location_of(const option_map& options) {
  auto host = find_address(options, "host");
  if (host.empty()) host = find_address(options, "hostaddr");
  if (host.empty()) host = "the local server";
  const auto port = find_address(options, "port");
  return port.empty() ? host : host + ":" + port;
}

}  // namespace

result<conninfo> parse_conninfo(const std::string& url, milliseconds timeout) {
  // libpq's message is not passed on, because the message may contain the password.
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(url.c_str(), nullptr), PQconninfoFree);
  if (!parsed) return invalid_url("the URL can't be read");
  option_map common;
  for (const auto* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) common[option->keyword] = option->val;
  }
  set_defaults(common, timeout);
  const auto hosts = split(find_address(common, "host"));
  const auto addresses = split(find_address(common, "hostaddr"));
  const auto ports = split(find_address(common, "port"));
  const auto count = std::max(hosts.size(), addresses.size());
  const auto fits = [count](const auto& list) {
    return list.size() == count || (list.size() == 1 && list.front().empty());
  };
  if (!fits(hosts) || !fits(addresses) || (!fits(ports) && ports.size() != 1)) {
    return invalid_url("the numbers of hosts and ports differ");
  }
  conninfo out;
  out.name = "postgresql ";
  for (std::size_t i = 0; i < count; ++i) {
    target one;
    one.options = common;
    const auto set = [&](const char* name, const std::vector<std::string>& list) {
      one.options.erase(name);
      if (auto value = nth(list, i); !value.empty()) one.options[name] = std::move(value);
    };
    set("host", hosts);
    set("hostaddr", addresses);
    set("port", ports);
    one.name = location_of(one.options);
    out.name += (i == 0 ? "" : ",") + one.name;
    out.targets.push_back(std::move(one));
  }
  if (const auto database = find_address(common, "dbname"); !database.empty()) {
    out.name += "/" + database;
  }
  return out;
}

}  // namespace onceguard::postgres
