// The servers of a store, and which of them has which part. Belongs to the pool's thread, except
// where it says otherwise.
#pragma once
#include <atomic>
#include <list>
#include <mutex>
#include <vector>

#include "store/redis/pool/request_queues.hpp"
#include "store/redis/pool/server.hpp"
#include "store/redis/topology/topology.hpp"

namespace onceguard::redis {

class server_list {
 public:
  /// The queues lead to these servers.
  server_list(const server_context& shared, request_queues& queues)
      : shared_(shared), queues_(queues) {}

  auto begin() noexcept { return servers_.begin(); }
  auto end() noexcept { return servers_.end(); }
  [[nodiscard]] server* find(const endpoint& endpoint) noexcept;
  /// Finds the server, or makes it.
  [[nodiscard]] server& at(const endpoint& endpoint);

  /// Leads each queue to the server that has its part.
  void assign(const layout& found);
  /// Removes the servers that are not needed any more.
  void drop(steady_time now);
  /// Updates what other threads see.
  void publish();
  /// The servers that have a part of the store. From any thread.
  [[nodiscard]] std::vector<server_pin> pins() const;
  /// Whether all servers keep acknowledged writes, as of their last greetings. From any thread.
  [[nodiscard]] bool durable() const noexcept { return durable_; }

 private:
  void settle_in(server& server);

  const server_context& shared_;
  request_queues& queues_;
  std::list<server> servers_;
  std::vector<endpoint> layout_;  // the masters that it named last
  std::atomic<bool> durable_{false};
  mutable std::mutex pins_access_;
  std::vector<server_pin> pins_;
};

}  // namespace onceguard::redis
