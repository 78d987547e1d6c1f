#include "store/redis/topology.hpp"

#include "store/redis/cluster_watch.hpp"
#include "store/redis/sentinel_watch.hpp"

namespace onceguard::redis {
namespace {

/// The topology of a single server.
class fixed_topology final : public topology {
 public:
  fixed_topology(const endpoint& endpoint, topology_events& events) : events_(events) {
    found_.masters.push_back({endpoint, {}});
    found_.owner.emplace_back(0);
  }
  void begin() override { events_.on_layout(found_); }

 private:
  topology_events& events_;
  layout found_;
};

}  // namespace

std::unique_ptr<topology> make_topology(const connection_context& context, const keyspace& names,
                                        const redis_params& params, topology_events& events) {
  switch (context.at.servers) {
    case deployment::sentinel:
      return std::make_unique<sentinel_watch>(context, params, events);
    case deployment::cluster:
      return std::make_unique<cluster_watch>(context, names, params, events);
    case deployment::single:
      break;
  }
  return std::make_unique<fixed_topology>(context.at.seeds.front(), events);
}

}  // namespace onceguard::redis
