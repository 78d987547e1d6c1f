// Finds out which node of a cluster has which part of the store. Polls one node at a time, every
// two seconds, and at once when something has changed.
#pragma once
#include <set>

#include "store/redis/topology/cluster_text.hpp"
#include "store/redis/topology/topology.hpp"

namespace onceguard::redis {

class cluster_watch final : public topology {
 public:
  cluster_watch(const connection_context& context, const keyspace& names,
                const redis_params& params, topology_events& events);

  void begin() override { go_on(); }

 private:
  /// The node that has a part, and the epoch of the failover or move that gave the part to the
  /// node.
  struct owner {
    redis::endpoint endpoint;
    std::string id;
    std::uint64_t epoch = 0;
  };

  [[nodiscard]] boost::asio::awaitable<void> poll();
  [[nodiscard]] std::vector<endpoint> nodes_in_turn();
  /// Empty: the node has answered.
  [[nodiscard]] boost::asio::awaitable<std::optional<failure>> ask(endpoint node);
  void read(const endpoint& endpoint, const std::vector<reply_ptr>& replies);
  void tell(const std::vector<node_entry>& nodes);
  void forget_strangers();
  [[nodiscard]] bool polling() const noexcept override { return polling_; }
  void go_on() override;

  const keyspace& names_;
  std::vector<std::optional<owner>> owners_;
  std::size_t round_ = 0;
  bool polling_ = false;
};

}  // namespace onceguard::redis
