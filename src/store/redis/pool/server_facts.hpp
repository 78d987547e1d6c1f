// What a server reports of itself at the begin of a connection: whether it can be used, and what a
// restart would lose.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "store/redis/redis_params.hpp"
#include "store/redis/transport/connection.hpp"
#include "store/redis/transport/failure.hpp"

namespace onceguard::redis {

struct server_facts {
  std::string run;               ///< of the server; empty: it may not be asked
  bool flags_of_scripts = true;  ///< Redis 7
  bool replica = false;
  bool loading = false;
  bool in_cluster = false;
  bool too_old = false;
  std::string version;
  std::string eviction;                  ///< maxmemory-policy; empty: unknown
  std::string append_only;               ///< "yes", "no"; empty: unknown
  std::string flushes;                   ///< appendfsync; empty: unknown
  std::optional<std::string> snapshots;  ///< save; none: unknown
};

/// Reads the text of INFO.
[[nodiscard]] server_facts read_info(std::string_view info);

/// Why this server can't hold the store or its part of the store; empty: it can. `copies_only`: the
/// server may forget records at any time.
[[nodiscard]] std::optional<failure> reason_for_distrust(const server_facts& facts,
                                                         deployment meant = deployment::single,
                                                         bool copies_only = false);

/// Why a server with this maxmemory-policy can't hold the store; empty: it can, or the policy is
/// unknown.
[[nodiscard]] std::optional<failure> eviction_fault(const std::string& policy);

/// What a restart of the server would lose, for the log.
[[nodiscard]] std::string_view lost_by_restart(const server_facts& facts);
/// Whether acknowledged writes survive a crash of the server's machine.
[[nodiscard]] bool keeps_everything(const server_facts& facts) noexcept;

/// What the user may not ask is unknown. Throws `broken` if the connection breaks.
[[nodiscard]] boost::asio::awaitable<server_facts> ask_facts(connection& connection);
/// The server's clock, in milliseconds since 1970.
[[nodiscard]] boost::asio::awaitable<std::int64_t> ask_time(connection& connection);

}  // namespace onceguard::redis
