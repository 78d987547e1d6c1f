// Readers for the texts in which the nodes of a Redis Cluster describe themselves and each other.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/redis_params.hpp"
#include "store/redis/transport/failure.hpp"
#include "store/redis/transport/resp.hpp"

namespace onceguard::redis {

/// A range of slots, and the master that has them.
struct slot_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  redis::endpoint endpoint;
  std::string id;
};

/// Of CLUSTER SLOTS. `endpoint`: of the node that replied, as it may not know its own address.
[[nodiscard]] std::vector<slot_range> read_slots(const reply& reply, const endpoint& endpoint);

struct node_entry {
  struct move {
    std::uint16_t slot = 0;
    std::string target;  ///< a node's id
  };
  std::string id;
  bool myself = false;
  bool master = false;  ///< false also for a master that is known to be gone
  std::uint64_t epoch = 0;
  std::vector<move> leaving;  ///< slots that it hands over now; only of `myself`
  std::vector<std::pair<std::uint16_t, std::uint16_t>> slots;
};

/// Reads the reply of CLUSTER NODES. Lines that can't be read are left out.
[[nodiscard]] std::vector<node_entry> read_nodes(std::string_view text);

/// The target of MOVED or ASK. `address`: of the node that sent the redirection. Empty: there is no
/// target.
[[nodiscard]] std::optional<endpoint> target_of(const failure& redirected, const endpoint& address);

}  // namespace onceguard::redis
