// What a server says of itself when a connection is made: may it be used, and what would it lose?
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/redis/address.hpp"
#include "store/redis/failure.hpp"

namespace onceguard::redis {

struct server_facts {
  std::string run;  ///< of the server; empty: it may not be asked
  bool functions = true;
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

/// Of the text of INFO.
[[nodiscard]] server_facts read_info(std::string_view info);

/// Why this server can't hold the store, or its part of it; none: it can. `copies_only`: it may
/// forget at any time.
[[nodiscard]] std::optional<failure> reason_for_distrust(const server_facts& facts,
                                                         deployment meant = deployment::single,
                                                         bool copies_only = false);

/// Why a server with this maxmemory-policy can't hold the store; none: it can, or is not known.
[[nodiscard]] std::optional<failure> eviction_fault(const std::string& policy);

/// For a log: what a restart of it would lose.
[[nodiscard]] std::string_view lost_by_restart(const server_facts& facts);
/// Does what it acknowledged survive a crash of its machine?
[[nodiscard]] bool keeps_everything(const server_facts& facts) noexcept;

}  // namespace onceguard::redis
