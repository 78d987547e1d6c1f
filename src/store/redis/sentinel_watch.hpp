// Finds out which server is the master. Polls all known sentinels at once, every second; the
// sentinel that knows the latest failover counts.
#pragma once
#include <map>

#include <boost/asio/steady_timer.hpp>

#include "store/redis/topology.hpp"
#include "store/redis/topology_poller.hpp"

namespace onceguard::redis {

class sentinel_watch final : public topology {
 public:
  sentinel_watch(const connection_context& context, const redis_params& params,
                 topology_events& events);

  void begin() override { ask_all(); }
  void distrust() override;
  [[nodiscard]] steady_time vouched() const noexcept override { return vouched_; }
  void close() override;

 private:
  /// The answers of one round.
  struct answers {
    std::uint64_t round = 0;
    std::size_t open = 0;
    std::size_t answered = 0;
    std::optional<endpoint> master;
    std::uint64_t epoch = 0;
    std::optional<failure> why;
  };

  void meet(const endpoint& sentinel);
  void ask_all();
  void read(std::uint64_t round, const std::vector<reply_ptr>& replies, std::optional<failure> why);
  void read(const std::vector<reply_ptr>& replies);
  void decide();
  void wait(std::chrono::milliseconds pause);

  const connection_context in_;
  const redis_params& params_;
  topology_events& events_;
  std::map<endpoint, topology_poller> sentinels_;
  boost::asio::steady_timer timer_;
  answers now_;
  std::uint64_t latest_ = 0;  // failover that was believed
  steady_time begun_{};
  steady_time vouched_ = steady_time::min();
  bool distrusted_ = false;
  bool closed_ = false;
};

}  // namespace onceguard::redis
