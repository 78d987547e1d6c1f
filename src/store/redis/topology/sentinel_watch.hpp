// Finds out which server is the master. Polls all known sentinels at once, every second; the
// sentinel that knows the latest failover counts.
#pragma once
#include "store/redis/topology/topology.hpp"

namespace onceguard::redis {

class sentinel_watch final : public topology {
 public:
  sentinel_watch(const connection_context& context, const redis_params& params,
                 topology_events& events);

  void begin() override { ask_all(); }
  [[nodiscard]] steady_time vouched() const noexcept override { return vouched_; }

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
  [[nodiscard]] boost::asio::awaitable<void> ask(topology_poller& sentinel, std::uint64_t round);
  void read(const std::vector<reply_ptr>& replies);
  void decide();
  [[nodiscard]] bool polling() const noexcept override { return now_.open > 0; }
  void go_on() override { return polling() ? decide() : ask_all(); }

  answers now_;
  std::uint64_t latest_ = 0;  // failover that was believed
  steady_time vouched_ = steady_time::min();
};

}  // namespace onceguard::redis
