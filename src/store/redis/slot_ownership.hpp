// Where the parts of a store in a cluster are, as each node says of itself, and what that means
// for somebody who goes from node to node while they move.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/redis/pool.hpp"

namespace onceguard::redis {

struct slot_ownership {
  struct node {
    server_pin pin;
    std::string id;
  };
  struct part {
    std::optional<std::size_t> owner;  ///< one of the nodes
    std::string to;                    ///< the id of the node that it moves to; empty: it stays
  };
  std::vector<node> nodes;
  std::vector<part> parts;
};

[[nodiscard]] milliseconds left_until(steady_time until);

/// Asks all of them. An error where a part is nobody's, or two nodes', or moves to a stranger.
[[nodiscard]] boost::asio::awaitable<result<slot_ownership>> read_slot_ownership(
    pool& pool, const std::vector<server_pin>& pins, steady_time until);

/// An order of the nodes in which what moves can't pass by: from where it leaves, to where it goes.
[[nodiscard]] std::vector<std::size_t> sources_first(const slot_ownership& ownership);

/// Did whoever went in this order, between the two, see every record at least once?
[[nodiscard]] bool nothing_passed_by(const slot_ownership& before, const slot_ownership& after,
                                     const std::vector<std::size_t>& order);

}  // namespace onceguard::redis
