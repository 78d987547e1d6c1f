#include "store/redis/topology/cluster_watch.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace onceguard::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds cluster_pause{2'000};        // between two polls
constexpr milliseconds cluster_pause_in_doubt{50};  // at least, between two polls
constexpr milliseconds cluster_patience{500};

}  // namespace

cluster_watch::cluster_watch(const connection_context& connection_context, const keyspace& names,
                             const redis_params& params, topology_events& events)
    : topology(connection_context, params, events, cluster_pause_in_doubt),
      names_(names),
      owners_(names.parts()) {}

void cluster_watch::ask_next() {
  if (closed_) return;
  timer_.cancel();
  if (to_ask_.empty()) {
    std::set<endpoint> all(in_.at.seeds.begin(), in_.at.seeds.end());
    for (const auto& each : owners_) {
      if (each) all.insert(each->at);
    }
    to_ask_.assign(all.begin(), all.end());
    // Each round begins with another node, because one node may know less than the others.
    const auto first = static_cast<std::ptrdiff_t>(round_++ % to_ask_.size());
    std::rotate(to_ask_.begin(), to_ask_.begin() + first, to_ask_.end());
    begun_ = base::boot_now();
    distrusted_ = false;
  }
  const auto next = to_ask_.back();
  to_ask_.pop_back();
  const auto patience = std::min(params_.timeout / 2, cluster_patience);
  auto& source = pollers_.try_emplace(next, in_, next, in_.at.login, patience).first->second;
  asking_ = true;
  source.ask({words("CLUSTER", "SLOTS"), words("CLUSTER", "NODES")},
             [this, &source](const std::vector<reply_ptr>& replies, std::optional<failure> why) {
               read(source, replies, std::move(why));
             });
}

void cluster_watch::read(topology_poller& poller, const std::vector<reply_ptr>& replies,
                         std::optional<failure> why) {
  asking_ = false;
  if (closed_) return;
  try {
    if (!why) read(poller.to(), replies);
  } catch (const broken& wrong) {
    why = wrong.why;
  } catch (const unexpected_reply& wrong) {
    why = connection_failure(wrong.what());
  }
  if (!why) {
    to_ask_.clear();
    forget_strangers();
    return wait(rest(cluster_pause));
  }
  if (why->text.find("cluster support disabled") != std::string::npos) why->misconfigured = true;
  if (!to_ask_.empty() && !why->misconfigured) return ask_next();
  to_ask_.clear();
  wait(cluster_pause_in_doubt * 2);
  events_.on_no_layout(*why);
}

void cluster_watch::read(const endpoint& endpoint, const std::vector<reply_ptr>& replies) {
  const auto nodes = read_nodes(text_in(replies.at(1)));
  const reply slots(*replies.at(0));
  if (slots.is_error()) throw broken{failure_of(slots.text())};
  const auto ranges = read_slots(slots, endpoint);
  if (ranges.empty())
    throw broken{connection_failure(endpoint.text() + " knows of no node with slots")};
  std::map<std::string, std::uint64_t> epochs;
  for (const auto& each : nodes) epochs[each.id] = each.epoch;
  for (std::size_t part = 0; part < owners_.size(); ++part) {
    const auto slot = names_.slot_of_part(part);
    const auto found = std::find_if(ranges.begin(), ranges.end(), [slot](const slot_range& each) {
      return each.first <= slot && slot <= each.last;
    });
    auto& mine = owners_[part];
    if (found == ranges.end()) {
      mine.reset();
      continue;
    }
    // A node that was partitioned may report an older layout.
    const auto epoch = epochs[found->id];
    if (!mine || mine->epoch <= epoch) mine = owner{found->at, found->id, epoch};
  }
  tell(nodes);
}

void cluster_watch::tell(const std::vector<node_entry>& nodes) {
  layout found;
  std::map<endpoint, std::size_t> positions;
  for (const auto& each : owners_) {
    if (!each) {
      found.owner.emplace_back();
      continue;
    }
    const auto [name, fresh] = positions.try_emplace(each->at, found.masters.size());
    if (fresh) found.masters.push_back({each->at, each->id});
    found.owner.emplace_back(name->second);
  }
  for (const auto& each : nodes) {
    if (each.master) found.ids += (found.ids.empty() ? "" : ",") + each.id;
  }
  events_.on_layout(found);
}

/// Drops the connections to nodes that have no part any more.
void cluster_watch::forget_strangers() {
  std::erase_if(pollers_, [&](const auto& each) {
    const auto& [at, node] = each;
    const auto& seeds = in_.at.seeds;
    const bool seed = std::find(seeds.begin(), seeds.end(), at) != seeds.end();
    const bool owns = std::any_of(owners_.begin(), owners_.end(), [&](const auto& each_owner) {
      return each_owner && each_owner->at == at;
    });
    return !seed && !owns && !node.busy();
  });
}

}  // namespace onceguard::redis
