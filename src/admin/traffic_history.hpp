// What the requests of the last hour got, and how long their steps took.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "admin/request_metrics.hpp"
#include "base/clock.hpp"

namespace onceguard::admin {

/// What was added between two moments.
struct traffic_sample {
  std::uint64_t number = 0;  ///< with each sample one more
  std::int64_t at_wall = 0;  ///< its end, in milliseconds since 1970
  request_totals added;
};

/// The latest samples. Thread-safe.
class traffic_history {
 public:
  static constexpr std::chrono::seconds interval{10};
  static constexpr std::size_t number_max = 360;  // an hour

  explicit traffic_history(const request_metrics& source) : source_(source) {}

  /// Takes samples until its io_context ends.
  boost::asio::awaitable<void> run();
  void take_sample(std::int64_t now_wall);
  /// When it began: samples of another beginning are of another process.
  [[nodiscard]] std::int64_t begun_at_wall() const noexcept { return begun_at_wall_; }
  /// Those with a higher number, the oldest first.
  [[nodiscard]] std::vector<traffic_sample> later_than(std::uint64_t number) const;

 private:
  const request_metrics& source_;
  const std::int64_t begun_at_wall_ = base::system_clock().wall_ms();
  mutable std::mutex mutex_;
  request_totals before_;              // under the mutex
  std::uint64_t taken_ = 0;            // under the mutex
  std::deque<traffic_sample> latest_;  // under the mutex
};

/// The time that a share of the observations did not exceed, in microseconds, interpolated within
/// a bucket as Prometheus does; 0: there were none.
[[nodiscard]] double quantile_us(const time_counts& times, double share) noexcept;

}  // namespace onceguard::admin
