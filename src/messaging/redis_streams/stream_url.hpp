// What the URLs of consumers and publishers say.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"
#include "messaging/broker_url.hpp"

namespace onceguard::messaging::redis_streams {

inline constexpr std::string_view consumer_example =
    "redis://user:password@localhost:6379/orders?group=billing&hold=30s";
inline constexpr std::string_view publisher_example = "redis://localhost:6379/orders";

/// Names of consumers that begin with it are the room's own: see scripts.hpp.
inline constexpr std::string_view reserved_prefix = "onceguard:";

/// How the servers are deployed.
enum class deployment : std::uint8_t {
  single,    ///< one server
  sentinel,  ///< a master and its replicas; sentinels say which one that is
  cluster,   ///< several masters, each with a part of the streams
};

struct server_address {
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
  }
};

/// `redis[s]://[user:password@]HOST[:PORT]/STREAM`,
/// `redis[s]+sentinel://[user:password@]HOST[:PORT][,…]/MASTER_NAME/STREAM`,
/// `redis[s]+cluster://[user:password@]HOST[:PORT][,…]/STREAM`.
struct stream_address {
  broker_url url;  ///< of the first server
  deployment servers = deployment::single;
  std::vector<server_address> seeds;  ///< the server, some of the sentinels, some of the nodes
  std::optional<tls::client_files> tls;
  std::string master;  ///< its name among the sentinels
  std::optional<std::pair<std::string, std::string>> sentinel_login;
  std::string stream;
};

struct stream_settings {
  stream_address where;

  // Of consumers: `?group=GROUP[&hold=30s][&consumer=NAME][&create=yes]`.
  std::string group{};
  /// All consumers of a group should have the same.
  milliseconds hold{30'000};
  std::string consumer{};  ///< its name in the group; empty: it gets one of its own
  bool create = false;     ///< makes the stream and the group where there are none

  // Of publishers: `[?max_length=N]`.
  /// The stream is trimmed to about so many entries. Whatever is trimmed is lost, also where no
  /// consumer has seen it, or one holds it.
  std::optional<std::uint64_t> max_length{};

  /// Why one of the files can't be used; empty: all can.
  [[nodiscard]] std::string files_fault() const { return messaging::files_fault(where.tls); }
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<stream_settings> read_settings(std::string_view url, broker_role role);

}  // namespace onceguard::messaging::redis_streams
