#include "libpq/conninfo.hpp"

#include <algorithm>

#include "base/unique_handle.hpp"

namespace onceguard::postgres {
namespace {

std::vector<std::string> split_host_list(const std::string& list) {
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

/// The n-th entry of a list that has one entry for each host, or one entry for all hosts.
std::string nth_host(const std::vector<std::string>& items, std::size_t n) {
  return items.size() == 1 ? items.front() : items.at(n);
}

std::string location_of(const connect_options& options) {
  auto host = option_of(options, "host");
  if (host.empty()) host = option_of(options, "hostaddr");
  if (host.empty()) host = "the local server";
  const auto port = option_of(options, "port");
  return port.empty() ? host : host + ":" + port;
}

}  // namespace

std::optional<connect_options> read_options(const std::string& url) {
  const base::unique_handle<PQconninfoOption, PQconninfoFree> parsed(
      PQconninfoParse(url.c_str(), nullptr));
  if (!parsed) return std::nullopt;
  connect_options out;
  for (const auto* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) out[option->keyword] = option->val;
  }
  return out;
}

void complete_options(connect_options& options, const std::string& application,
                      milliseconds silence_max) {
  const auto otherwise = [&](const char* name, std::string value) {
    options.emplace(name, std::move(value));
  };
  // Never a replica: it may lack acknowledged records, and refuses writes.
  otherwise("target_session_attrs", "read-write");
  otherwise("fallback_application_name", application);
  otherwise("client_encoding", "UTF8");
  otherwise("keepalives_idle", "10");
  otherwise("keepalives_interval", "3");
  otherwise("keepalives_count", "3");
  otherwise("tcp_user_timeout", std::to_string(silence_max.count()));
}

std::string option_of(const connect_options& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

result<conninfo> parse_conninfo(const std::string& url, milliseconds timeout) {
  auto read = read_options(url);
  if (!read) return invalid_url("the URL can't be read");
  auto& common = *read;
  complete_options(common, "onceguard", 2 * timeout);
  const auto hosts = split_host_list(option_of(common, "host"));
  const auto addresses = split_host_list(option_of(common, "hostaddr"));
  const auto ports = split_host_list(option_of(common, "port"));
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
      if (auto value = nth_host(list, i); !value.empty()) one.options[name] = std::move(value);
    };
    set("host", hosts);
    set("hostaddr", addresses);
    set("port", ports);
    one.name = location_of(one.options);
    out.name += (i == 0 ? "" : ",") + one.name;
    out.targets.push_back(std::move(one));
  }
  if (const auto database = option_of(common, "dbname"); !database.empty()) {
    out.name += "/" + database;
  }
  return out;
}

connected connect(const conninfo& where, milliseconds timeout) {
  connected out;
  for (const auto& each : where.targets) {
    auto options = each.options;
    if (timeout.count() != 0) {
      const auto seconds = std::max<std::int64_t>(timeout.count() / 1'000, 2);  // libpq's least
      options.emplace("connect_timeout", std::to_string(seconds));
    }
    const connect_arguments arguments(options);
    out.handle.reset(PQconnectdbParams(arguments.names.data(), arguments.values.data(), 0));
    out.server = &each;
    if (PQstatus(out.handle.get()) != CONNECTION_OK) continue;
    PQsetNoticeReceiver(
        out.handle.get(), [](void*, const PGresult*) {}, nullptr);
    break;
  }
  return out;
}

}  // namespace onceguard::postgres
