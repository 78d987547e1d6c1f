// The queues of requests that wait to be sent. All requests of a record are in one queue, and a
// queue uses one connection at a time, so that they are carried out in the order of their arrival.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "store/redis/commands/request.hpp"

namespace onceguard::redis {

class pipeline;
class server;

struct request_queue {
  server* at = nullptr;          ///< where it leads now
  const pipeline* by = nullptr;  ///< what is under way went by this one
  std::deque<entry> waiting;     ///< in the order of their numbers
  std::size_t under_way = 0;
  std::optional<steady_time> nowhere_since{};
  steady_time paused_until{};
  std::uint32_t turned_away = 0;  ///< in a row
  bool listed = false;
};

class request_queues {
 public:
  explicit request_queues(std::size_t count) : queues_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
  [[nodiscard]] request_queue& operator[](std::size_t i) { return queues_[i]; }
  auto begin() noexcept { return queues_.begin(); }
  auto end() noexcept { return queues_.end(); }

  /// Inserts by number: a new request at the end, a returned request near the front.
  void add(entry one) {
    auto& target = queues_[one.request_queue];
    if (!std::exchange(target.listed, true)) waiting_.push_back(one.request_queue);
    const auto later = [&](const entry& each) { return each.number > one.number; };
    const bool last = target.waiting.empty() || !later(target.waiting.back());
    const auto insert_at = last ? target.waiting.end()
                                : std::find_if(target.waiting.begin(), target.waiting.end(), later);
    target.waiting.insert(insert_at, std::move(one));
  }

  /// Calls `Visit` (std::size_t, request_queue&) for each queue that is not empty.
  template <class Visit>
  void each_waiting(Visit visit) {
    std::erase_if(waiting_, [&](std::uint16_t i) {
      auto& one = queues_[i];
      if (!one.waiting.empty()) visit(i, one);
      one.listed = !one.waiting.empty();
      return !one.listed;
    });
  }

 private:
  std::vector<request_queue> queues_;
  std::vector<std::uint16_t> waiting_;
};

}  // namespace onceguard::redis
