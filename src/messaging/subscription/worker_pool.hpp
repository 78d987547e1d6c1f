// The threads of a subscription. Each takes one batch at a time.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <onceguard/subscription.hpp>

namespace onceguard::messaging {

/// The longest pause after errors of the broker or of the store.
inline constexpr milliseconds retry_max{30'000};

/// A batch on its way to a worker, and back with its outcomes.
struct batch_job {
  std::vector<delivery> deliveries;
  std::vector<delivered> views{};  ///< of the deliveries, one each; `source` is set by the pool
  std::uint64_t connection = 0;    ///< counts the consumers of the subscription
  bool probe = false;              ///< begun while the circuit breaker was open
  result<std::vector<inbox_outcome>> outcomes{std::vector<inbox_outcome>()};
};

/// Thread-safe. The destructor waits for the workers.
class worker_pool {
 public:
  worker_pool(std::size_t workers, const std::function<batch_worker()>& make_worker);
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  ~worker_pool();

  void give(batch_job job);
  /// The jobs that are done by now. Waits for one, for at most `wait`, if none is.
  [[nodiscard]] std::vector<batch_job> take_done(milliseconds wait);
  /// The jobs that no worker has begun: none will.
  [[nodiscard]] std::vector<batch_job> take_waiting();

 private:
  void run(std::stop_token stop);

  const std::function<batch_worker()>& make_worker_;
  std::mutex mutex_;
  std::condition_variable_any work_;
  std::condition_variable_any finished_;
  std::deque<batch_job> waiting_;
  std::vector<batch_job> done_;
  std::vector<std::jthread> threads_;
};

}  // namespace onceguard::messaging
