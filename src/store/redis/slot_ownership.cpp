#include "store/redis/slot_ownership.hpp"

#include <algorithm>

#include "store/redis/cluster_text.hpp"
#include "store/redis/question.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

awaitable<result<std::string>> ask_nodes(pool& of, const server_pin& pin, steady_time until) {
  auto write = [](std::string& to, const script_calls&, const keyspace&) {
    append_command(to, {"CLUSTER", "NODES"});
  };
  auto read = [](const reply& said) -> result<std::string> { return std::string(said.text()); };
  question_traits traits;
  traits.pin = pin;
  const auto left = left_until(until);
  auto asked = make_question<std::string>(traits, std::nullopt, left, write, read);
  return ask(of.queue(), std::move(asked), left);
}

bool owns(const node_entry& of, std::uint16_t slot) {
  return std::any_of(of.slots.begin(), of.slots.end(), [slot](const auto& range) {
    return range.first <= slot && slot <= range.second;
  });
}

std::optional<std::size_t> location_of(const slot_ownership& in, const std::string& id) {
  const auto found = std::find_if(in.nodes.begin(), in.nodes.end(),
                                  [&](const slot_ownership::node& each) { return each.id == id; });
  if (found == in.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - in.nodes.begin());
}

/// False: another node says that it has one of its parts.
bool add_node(slot_ownership& to, const server_pin& pin, const node_entry& self,
              const keyspace& names) {
  const auto name = to.nodes.size();
  to.nodes.push_back({pin, self.id});
  for (std::size_t part = 0; part < to.parts.size(); ++part) {
    const auto slot = names.slot_of_part(part);
    if (!owns(self, slot)) continue;
    auto& mine = to.parts[part];
    if (mine.owner) return false;
    mine.owner = name;
    for (const auto& each : self.leaving) {
      if (each.slot == slot) mine.to = each.to;
    }
  }
  return true;
}

}  // namespace

milliseconds left_until(steady_time until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - base::boot_now());
  return std::max(left, milliseconds(0));
}

awaitable<result<slot_ownership>> read_slot_ownership(pool& of, const std::vector<server_pin>& pins,
                                                      steady_time until) {
  const auto unclear = [&](const char* why) {
    return error(errc::store_unreachable, of.at().name + ": " + why);
  };
  slot_ownership out;
  out.parts.resize(of.names().parts());
  for (const auto& pin : pins) {
    const auto said = co_await ask_nodes(of, pin, until);
    if (!said) co_return said.error();
    const auto nodes = read_nodes(*said);
    const auto self = std::find_if(nodes.begin(), nodes.end(),
                                   [](const node_entry& each) { return each.myself; });
    if (self == nodes.end()) co_return unclear("a node does not know itself");
    if (!add_node(out, pin, *self, of.names())) co_return unclear("two nodes have one part");
  }
  for (const auto& each : out.parts) {
    if (!each.owner) co_return unclear("a part of it is on no node in reach");
    if (!each.to.empty() && !location_of(out, each.to)) {
      co_return unclear("a part of it moves to a node that has none yet");
    }
  }
  co_return out;
}

std::vector<std::size_t> sources_first(const slot_ownership& of) {
  // How many steps of moves lead to each; in a circle there is no such order, and that is noticed.
  std::vector<std::size_t> depth(of.nodes.size(), 0);
  for (std::size_t round = 0; round < of.nodes.size(); ++round) {
    for (const auto& each : of.parts) {
      const auto to = each.to.empty() ? std::nullopt : location_of(of, each.to);
      if (to) depth[*to] = std::max(depth[*to], std::min(depth[*each.owner] + 1, depth.size()));
    }
  }
  std::vector<std::size_t> out(of.nodes.size());
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
    // `after` was asked of the same nodes in the same order.
    const auto first_to = then.to.empty() ? then.owner : location_of(before, then.to);
    if (now.owner != then.owner && now.owner != first_to) return false;
    const auto last_to = now.to.empty() ? now.owner : location_of(before, now.to);
    if (!first_to || !last_to) return false;
    if (turn_of(*first_to) < turn_of(*then.owner)) return false;
    if (turn_of(*last_to) < turn_of(*now.owner)) return false;
    // It left for one node and now leaves that one's place for a third.
    if (now.owner == then.owner && !now.to.empty() && !then.to.empty() && now.to != then.to) {
      return false;
    }
  }
  return true;
}

}  // namespace onceguard::redis
