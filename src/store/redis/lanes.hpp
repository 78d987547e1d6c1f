// What waits to be sent, in lanes: the requests of a record are all in one lane, and a lane's
// requests travel by one link at a time, so they follow one another as they came.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "store/redis/request.hpp"

namespace onceguard::redis {

class link;
class server;

struct lane {
  server* at = nullptr;       ///< where it leads now
  const link* by = nullptr;   ///< what is under way went by this one
  std::deque<entry> waiting;  ///< in the order of their numbers
  std::size_t under_way = 0;
  std::optional<steady_time> nowhere_since{};
  steady_time paused_until{};
  std::uint32_t turned_away = 0;  ///< in a row
  bool listed = false;
};

class lane_set {
 public:
  explicit lane_set(std::size_t count) : lanes_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }
  [[nodiscard]] lane& operator[](std::size_t i) { return lanes_[i]; }
  auto begin() noexcept { return lanes_.begin(); }
  auto end() noexcept { return lanes_.end(); }

  /// Where its number belongs: at the end when it is new, near the beginning when it comes back.
  void add(entry one) {
    auto& to = lanes_[one.lane];
    if (!std::exchange(to.listed, true)) waiting_.push_back(one.lane);
    const auto later = [&](const entry& each) { return each.number > one.number; };
    const bool last = to.waiting.empty() || !later(to.waiting.back());
    const auto place =
        last ? to.waiting.end() : std::find_if(to.waiting.begin(), to.waiting.end(), later);
    to.waiting.insert(place, std::move(one));
  }

  /// `Visit`: std::size_t, lane& → void, for each lane where something waits.
  template <class Visit>
  void each_waiting(Visit visit) {
    std::erase_if(waiting_, [&](std::uint16_t i) {
      auto& one = lanes_[i];
      if (!one.waiting.empty()) visit(i, one);
      one.listed = !one.waiting.empty();
      return !one.listed;
    });
  }

 private:
  std::vector<lane> lanes_;
  std::vector<std::uint16_t> waiting_;
};

}  // namespace onceguard::redis
