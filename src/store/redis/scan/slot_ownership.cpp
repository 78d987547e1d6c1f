#include "store/redis/scan/slot_ownership.hpp"

#include <algorithm>

#include "store/redis/commands/store_commands.hpp"
#include "store/redis/topology/cluster_text.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

bool owns(const node_entry& entry, std::uint16_t slot) {
  return std::any_of(entry.slots.begin(), entry.slots.end(), [slot](const auto& range) {
    return range.first <= slot && slot <= range.second;
  });
}

std::optional<std::size_t> location_of(const slot_ownership& ownership, const std::string& id) {
  const auto found = std::find_if(ownership.nodes.begin(), ownership.nodes.end(),
                                  [&](const slot_ownership::node& each) { return each.id == id; });
  if (found == ownership.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ownership.nodes.begin());
}

/// False: another node claims one of the node's parts.
bool add_node(slot_ownership& ownership, const server_pin& pin, const node_entry& self,
              const keyspace& names) {
  const auto index = ownership.nodes.size();
  ownership.nodes.push_back({pin, self.id});
  for (std::size_t part = 0; part < ownership.parts.size(); ++part) {
    const auto slot = names.slot_of_part(part);
    if (!owns(self, slot)) continue;
    auto& mine = ownership.parts[part];
    if (mine.owner) return false;
    mine.owner = index;
    for (const auto& each : self.leaving) {
      if (each.slot == slot) mine.target = each.target;
    }
  }
  return true;
}

}  // namespace

awaitable<result<slot_ownership>> read_slot_ownership(server_pool& pool,
                                                      const std::vector<server_pin>& pins,
                                                      steady_time until) {
  const auto unknown = [&](const char* why) {
    return error(errc::store_unreachable, pool.at().name + ": " + why);
  };
  slot_ownership out;
  out.parts.resize(pool.names().parts());
  for (const auto& pin : pins) {
    const auto done = co_await send_one(pool.queue(), ask_for_nodes(pin), left_until(until));
    const auto text_of = [](const redis::reply& each) { return std::string(each.text()); };
    const auto reply = read_outcome(done, text_of);
    if (!reply) co_return reply.error();
    const auto nodes = read_nodes(*reply);
    const auto self = std::find_if(nodes.begin(), nodes.end(),
                                   [](const node_entry& each) { return each.myself; });
    if (self == nodes.end()) co_return unknown("a node does not know itself");
    if (!add_node(out, pin, *self, pool.names())) co_return unknown("two nodes have one part");
  }
  for (const auto& each : out.parts) {
    if (!each.owner) co_return unknown("a part of it is on no node in reach");
    if (!each.target.empty() && !location_of(out, each.target)) {
      co_return unknown("a part of it moves to a node that has none yet");
    }
  }
  co_return out;
}

std::vector<std::size_t> sources_first(const slot_ownership& ownership) {
  // The number of moves that lead to each node. Moves in a circle have no such order, and are
  // noticed.
  std::vector<std::size_t> depth(ownership.nodes.size(), 0);
  for (std::size_t round = 0; round < ownership.nodes.size(); ++round) {
    for (const auto& each : ownership.parts) {
      const auto target = each.target.empty() ? std::nullopt : location_of(ownership, each.target);
      if (target)
        depth[*target] = std::max(depth[*target], std::min(depth[*each.owner] + 1, depth.size()));
    }
  }
  std::vector<std::size_t> out(ownership.nodes.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return depth[a] < depth[b]; });
  return out;
}

bool nothing_passed_by(const slot_ownership& before, const slot_ownership& after,
                       const std::vector<std::size_t>& order) {
  const auto turn_of = [&](std::size_t node) {
    return std::find(order.begin(), order.end(), node) - order.begin();
  };
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    const auto& then = before.parts[part];
    const auto& now = after.parts[part];
    // `after` has the same nodes in the same order.
    const auto first_to = then.target.empty() ? then.owner : location_of(before, then.target);
    if (now.owner != then.owner && now.owner != first_to) return false;
    const auto last_to = now.target.empty() ? now.owner : location_of(before, now.target);
    if (!first_to || !last_to) return false;
    if (turn_of(*first_to) < turn_of(*then.owner)) return false;
    if (turn_of(*last_to) < turn_of(*now.owner)) return false;
    // The part moved to one node, and now moves on to a third node.
    if (now.owner == then.owner && !now.target.empty() && !then.target.empty() &&
        now.target != then.target) {
      return false;
    }
  }
  return true;
}

}  // namespace onceguard::redis
