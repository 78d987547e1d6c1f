#include "store/redis/pool/server_facts.hpp"

#include <charconv>

namespace onceguard::redis {
namespace {

using info_map = std::map<std::string_view, std::string_view>;

info_map connections_of(std::string_view info) {
  info_map out;
  while (!info.empty()) {
    const auto end = info.find("\r\n");
    const auto connection = info.substr(0, end);
    info.remove_prefix(end == std::string_view::npos ? info.size() : end + 2);
    const auto colon = connection.find(':');
    if (colon != std::string_view::npos)
      out[connection.substr(0, colon)] = connection.substr(colon + 1);
  }
  return out;
}

/// "7.0.15" as 7'000.
int number_of(std::string_view version) {
  int major = 0;
  int minor = 0;
  const auto* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
  return major * 1'000 + minor;
}

failure wrong(std::string description) { return {{}, std::move(description), true}; }

}  // namespace

server_facts read_info(std::string_view info) {
  const auto connections = connections_of(info);
  const auto find_address = [&](std::string_view name) {
    const auto found = connections.find(name);
    return found == connections.end() ? std::string() : std::string(found->second);
  };
  server_facts out;
  out.version = find_address("redis_version");
  out.flags_of_scripts = number_of(out.version) >= 7'000;
  out.too_old = number_of(out.version) < 6'002;
  out.run = find_address("run_id");
  out.replica = find_address("role") == "slave";
  out.loading = find_address("loading") == "1";
  out.in_cluster = find_address("cluster_enabled") == "1";
  out.eviction = find_address("maxmemory_policy");
  if (const auto target = find_address("aof_enabled"); !target.empty())
    out.append_only = target == "1" ? "yes" : "no";
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

}  // namespace onceguard::redis
