#include "store/redis/pool/server_facts.hpp"

#include <charconv>

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

/// The value of a line of INFO. Empty: there is no such line.
std::string info_value(std::string_view info, const std::string& name) {
  const auto begin = ("\r\n" + std::string(info)).find("\r\n" + name + ":");
  if (begin == std::string::npos) return {};
  const auto value = info.substr(begin + name.size() + 1);
  return std::string(value.substr(0, value.find("\r\n")));
}

/// "7.0.15" as 7'000.
int version_number(std::string_view version) {
  int major = 0;
  int minor = 0;
  const auto* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
  return major * 1'000 + minor;
}

failure wrong(std::string description) { return {{}, std::move(description), true}; }

bool not_permitted(const reply& reply) {
  return reply.is_error() && failure_of(reply.text()).code == "NOPERM";
}

awaitable<std::optional<std::string>> ask_setting(connection& connection, const char* name) {
  const auto got = co_await connection.ask(words("CONFIG", "GET", name));
  const reply reply(*got);
  if (!reply.is_array() || reply.size() < 2) co_return std::nullopt;
  co_return std::string(reply.at(1).text());
}

}  // namespace

server_facts read_info(std::string_view info) {
  server_facts out;
  out.version = info_value(info, "redis_version");
  out.flags_of_scripts = version_number(out.version) >= 7'000;
  out.too_old = version_number(out.version) < 6'002;
  out.run = info_value(info, "run_id");
  out.replica = info_value(info, "role") == "slave";
  out.loading = info_value(info, "loading") == "1";
  out.in_cluster = info_value(info, "cluster_enabled") == "1";
  out.eviction = info_value(info, "maxmemory_policy");
  if (const auto enabled = info_value(info, "aof_enabled"); !enabled.empty()) {
    out.append_only = enabled == "1" ? "yes" : "no";
  }
  return out;
}

std::optional<failure> reason_for_distrust(const server_facts& facts, deployment meant,
                                           bool copies_only) {
  if (facts.loading) return connection_failure("the server is still loading its data");
  if (facts.replica) return connection_failure("the server is a replica: it takes no writes");
  if (facts.too_old) {
    return wrong("the server is Redis " + facts.version + "; 6.2 is the oldest that will do");
  }
  const bool cluster_meant = meant == deployment::cluster;
  if (facts.in_cluster && !cluster_meant) {
    return wrong("the server is part of a cluster, which needs redis+cluster:");
  }
  if (cluster_meant && !facts.in_cluster && !facts.version.empty()) {
    return wrong("the server is not part of a cluster, as redis+cluster: needs it");
  }
  return copies_only ? std::nullopt : eviction_fault(facts.eviction);
}

std::optional<failure> eviction_fault(const std::string& policy) {
  if (policy.empty() || policy == "noeviction") return std::nullopt;
  return wrong("maxmemory-policy is " + policy +
               ": the server would forget keys to make room, and what they guard would run "
               "again; set it to noeviction");
}

std::string_view lost_by_restart(const server_facts& facts) {
  if (facts.append_only.empty()) return "unknown: the server does not say how it keeps its data";
  if (facts.append_only == "yes") {
    if (facts.flushes == "always") return "nothing that was acknowledged";
    if (facts.flushes == "everysec") return "up to two seconds of acknowledged writes";
    if (facts.flushes == "no") return "what the kernel had not written to the disk yet";
    return "at least the last seconds: it does not say how often it flushes";
  }
  if (!facts.snapshots) return "what came after the last snapshot, or everything";
  return facts.snapshots->empty() ? "everything" : "what came after the last snapshot";
}

bool keeps_everything(const server_facts& facts) noexcept {
  return facts.append_only == "yes" && facts.flushes == "always";
}

awaitable<server_facts> ask_facts(connection& connection) {
  server_facts out;
  const auto info = co_await connection.ask(words("INFO"));
  if (!not_permitted(reply(*info))) out = read_info(text_in(info));
  if (auto value = co_await ask_setting(connection, "appendonly")) {
    out.append_only = std::move(*value);
  }
  if (auto value = co_await ask_setting(connection, "appendfsync")) out.flushes = std::move(*value);
  out.snapshots = co_await ask_setting(connection, "save");
  co_return out;
}

awaitable<std::int64_t> ask_time(connection& connection) {
  const auto got = co_await connection.ask(words("TIME"));
  const reply reply(*got);
  if (reply.is_error()) throw broken{failure_of(reply.text())};
  const auto seconds = number_in<std::int64_t>(reply.at(0).text());
  const auto micros = number_in<std::int64_t>(reply.at(1).text());
  if (!seconds || !micros) throw unexpected_reply("a time was expected");
  co_return *seconds * 1'000 + *micros / 1'000;
}

}  // namespace onceguard::redis
