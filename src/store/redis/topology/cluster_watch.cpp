#include "store/redis/topology/cluster_watch.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "base/clock.hpp"
#include "base/rethrow.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;
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

void cluster_watch::go_on() {
  if (!std::exchange(polling_, true))
    boost::asio::co_spawn(context_.context, poll(), base::rethrow);
}

awaitable<void> cluster_watch::poll() {
  timer_.cancel();
  begun_ = base::boot_now();
  distrusted_ = false;
  std::optional<failure> why;
  for (const auto& node : nodes_in_turn()) {
    why = co_await ask(node);
    if (closed_) co_return;
    if (!why || why->misconfigured) break;
  }
  polling_ = false;
  if (!why) {
    forget_strangers();
    co_return wait(rest(cluster_pause));
  }
  wait(cluster_pause_in_doubt * 2);
  events_.on_no_layout(*why);
}

/// Each round begins with another node, because one node may know less than the others.
std::vector<endpoint> cluster_watch::nodes_in_turn() {
  std::set<endpoint> all(context_.address.seeds.begin(), context_.address.seeds.end());
  for (const auto& each : owners_) {
    if (each) all.insert(each->endpoint);
  }
  std::vector<endpoint> out(all.begin(), all.end());
  const auto first = static_cast<std::ptrdiff_t>(round_++ % out.size());
  std::rotate(out.begin(), out.begin() + first, out.end());
  return out;
}

awaitable<std::optional<failure>> cluster_watch::ask(endpoint node) {
  const auto patience = std::min(params_.timeout / 2, cluster_patience);
  auto& source =
      pollers_.try_emplace(node, context_, node, context_.address.login, patience).first->second;
  try {
    std::vector<std::string> commands{words("CLUSTER", "SLOTS"), words("CLUSTER", "NODES")};
    const auto replies = co_await source.ask(std::move(commands));
    if (!closed_) read(node, replies);
  } catch (const broken& wrong) {
    auto why = wrong.why;
    const bool alone = why.text.find("cluster support disabled") != std::string::npos;
    why.misconfigured = why.misconfigured || alone;
    co_return why;
  }
  co_return std::nullopt;
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
    if (!mine || mine->epoch <= epoch) mine = owner{found->endpoint, found->id, epoch};
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
    const auto [name, fresh] = positions.try_emplace(each->endpoint, found.masters.size());
    if (fresh) found.masters.push_back({each->endpoint, each->id});
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
    const auto& [endpoint, poller] = each;
    const auto& seeds = context_.address.seeds;
    const bool seed = std::find(seeds.begin(), seeds.end(), endpoint) != seeds.end();
    const bool owns = std::any_of(owners_.begin(), owners_.end(), [&](const auto& each_owner) {
      return each_owner && each_owner->endpoint == endpoint;
    });
    return !seed && !owns && !poller.busy();
  });
}

}  // namespace onceguard::redis
