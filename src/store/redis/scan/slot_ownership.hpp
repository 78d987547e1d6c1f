// Which node has which part of a store in a cluster, as each node reports, and whether a scan from
// node to node has met every record while parts moved.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/redis/pool/server_pool.hpp"

namespace onceguard::redis {

struct slot_ownership {
  struct node {
    server_pin pin;
    std::string id;
  };
  struct part {
    std::optional<std::size_t> owner;  ///< one of the nodes
    std::string target;                ///< the id of the node that it moves to; empty: it stays
  };
  std::vector<node> nodes;
  std::vector<part> parts;
};

/// Asks all nodes. An error if a part has no node or two nodes, or moves to an unknown node.
[[nodiscard]] boost::asio::awaitable<result<slot_ownership>> read_slot_ownership(
    server_pool& pool, const std::vector<server_pin>& pins, steady_time until);

/// An order of the nodes in which no moving record is missed: the source of each move before its
/// target.
[[nodiscard]] std::vector<std::size_t> sources_first(const slot_ownership& ownership);

/// Whether a scan in this order, between the two readings, has met every record at least once.
[[nodiscard]] bool nothing_passed_by(const slot_ownership& before, const slot_ownership& after,
                                     const std::vector<std::size_t>& order);

}  // namespace onceguard::redis
