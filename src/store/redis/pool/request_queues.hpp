// The queues of requests that wait to be sent, one for each part of the store. A queue uses one
// server at a time, so that the requests of a record are carried out in the order of their arrival.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "store/redis/commands/request.hpp"

namespace onceguard::redis {

class server;

struct request_queue {
  server* target = nullptr;         ///< where it leads now
  const server* carrier = nullptr;  ///< what is under way went by this one
  std::deque<entry> waiting;        ///< in the order of their numbers
  std::size_t under_way = 0;
  std::optional<steady_time> nowhere_since = base::boot_now();
  steady_time paused_until{};
  std::uint32_t turned_away = 0;  ///< in a row
  bool listed = false;

  void lead_to(server* next) {
    target = next;
    if (next != nullptr) {
      nowhere_since.reset();
    } else if (!nowhere_since) {
      nowhere_since = base::boot_now();
    }
  }
};

class request_queues {
 public:
  explicit request_queues(std::size_t count) : queues_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
  [[nodiscard]] request_queue& operator[](std::size_t part) { return queues_[part]; }
  auto begin() noexcept { return queues_.begin(); }
  auto end() noexcept { return queues_.end(); }

  /// Inserts by number: a new request at the end, a returned request near the front.
  void add(entry one) {
    auto& target = queues_[one.part];
    if (!std::exchange(target.listed, true)) waiting_.push_back(one.part);
    const auto later = [&](const entry& each) { return each.number > one.number; };
    const bool last = target.waiting.empty() || !later(target.waiting.back());
    const auto insert_at = last ? target.waiting.end()
                                : std::find_if(target.waiting.begin(), target.waiting.end(), later);
    target.waiting.insert(insert_at, std::move(one));
  }

  /// Calls `Visit` (request_queue&) for each queue that is not empty.
  template <class Visit>
  void each_waiting(Visit visit) {
    std::erase_if(waiting_, [&](std::uint16_t part) {
      auto& one = queues_[part];
      if (!one.waiting.empty()) visit(one);
      one.listed = !one.waiting.empty();
      return !one.listed;
    });
  }

 private:
  std::vector<request_queue> queues_;
  std::vector<std::uint16_t> waiting_;
};

}  // namespace onceguard::redis
