#include "admin/traffic_history.hpp"

#include <numeric>

#include "engine/background.hpp"

namespace onceguard::admin {

namespace {

template <std::size_t Size>
void subtract(std::array<std::uint64_t, Size>& counts,
              const std::array<std::uint64_t, Size>& earlier) {
  for (std::size_t i = 0; i < Size; ++i) counts[i] -= earlier[i];
}

}  // namespace

boost::asio::awaitable<void> traffic_history::run() {
  for (;;) {
    co_await sleep_for(interval);
    take_sample(base::system_clock().wall_ms());
  }
}

void traffic_history::take_sample(std::int64_t now_wall) {
  const auto totals = source_.totals();
  const std::lock_guard lock(mutex_);
  traffic_sample sample{++taken_, now_wall, totals};
  subtract(sample.added.outcomes, before_.outcomes);
  for (std::size_t i = 0; i < totals.times.size(); ++i) {
    subtract(sample.added.times[i], before_.times[i]);
  }
  before_ = totals;
  latest_.push_back(sample);
  if (latest_.size() > number_max) latest_.pop_front();
}

std::vector<traffic_sample> traffic_history::later_than(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  std::vector<traffic_sample> out;
  for (const auto& one : latest_) {
    if (one.number > number) out.push_back(one);
  }
  return out;
}

double quantile_us(const time_counts& times, double share) noexcept {
  const auto all = std::accumulate(times.begin(), times.end(), std::uint64_t{0});
  if (all == 0) return 0;
  const double wanted = share * static_cast<double>(all);
  double below = 0;
  for (std::size_t i = 0; i < time_bounds_us.size(); ++i) {
    const auto here = static_cast<double>(times[i]);
    if (here > 0 && below + here >= wanted) {
      const double low = i == 0 ? 0 : static_cast<double>(time_bounds_us[i - 1]);
      const double high = static_cast<double>(time_bounds_us[i]);
      return low + (high - low) * (wanted - below) / here;
    }
    below += here;
  }
  return static_cast<double>(time_bounds_us.back());
}

}  // namespace onceguard::admin
