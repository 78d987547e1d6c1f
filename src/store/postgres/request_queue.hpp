// The queue of items of one kind that wait for a connection, and their batches. A record is in one
// batch at a time, so that its items are carried out in the order of their arrival.
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/postgres/job.hpp"
#include "store/postgres/wire.hpp"

namespace onceguard::postgres {

struct record_hash {
  std::size_t operator()(const record_id& id) const noexcept {
    std::size_t out = 0;
    std::copy_n(id.begin(), sizeof out, reinterpret_cast<unsigned char*>(&out));
    return out;
  }
};
/// The records in flight, of all kinds of items.
using records_under_way = std::unordered_set<record_id, record_hash>;

/// One item of a job.
template <class Kind>
struct entry {
  using job_type = batch_job<typename Kind::item, typename Kind::outcome>;

  std::shared_ptr<job_type> of;
  std::size_t index = 0;
  bool doubtful = false;        ///< an earlier trip ended with an unknown effect
  bool alone = false;           ///< sent by itself, because one item of its batch made all fail
  bool with_subject = false;    ///< the record is gone
  std::uint32_t tries = 0;      ///< how often another transaction was writing the record
  steady_time not_before{};     ///< the next try
  std::vector<entry> joined{};  ///< claims that this one's verdict answers as well

  [[nodiscard]] const typename Kind::item& item() const { return of->item(index); }
};

template <class Kind>
class request_queue {
 public:
  using entry_type = entry<Kind>;
  using batch = std::vector<entry_type>;

  void push(entry_type added) { waiting_.push_back(std::move(added)); }
  /// Puts an entry that has waited already before all others.
  void push_front(entry_type added) { waiting_.push_front(std::move(added)); }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// Takes a batch out of the queue, and adds its records to `under_way`. Items whose caller has
  /// given up go to `ended`.
  [[nodiscard]] batch take(std::size_t most, std::size_t bytes_most, records_under_way& under_way,
                           steady_time now, batch& ended) {
    batch out;
    std::size_t bytes = 0;
    std::deque<entry_type> left;
    while (!waiting_.empty() && out.size() < most && bytes < bytes_most) {
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      if (next.of->give_up_at() <= now || next.of->dropped()) {
        ended.push_back(std::move(next));
        continue;
      }
      const bool due = next.not_before <= now && (!next.alone || out.empty());
      auto* twin = due && under_way.contains(next.item().id) ? twin_in(out, next) : nullptr;
      if (!due || (twin == nullptr && under_way.contains(next.item().id))) {
        left.push_back(std::move(next));
      } else if (!next.of->take()) {  // its caller gave up at this moment
        ended.push_back(std::move(next));
      } else if (twin != nullptr) {
        twin->joined.push_back(std::move(next));
      } else {
        under_way.insert(next.item().id);
        bytes += Kind::weight(next.item());
        out.push_back(std::move(next));
        if (out.back().alone) break;
      }
    }
    std::move(left.rbegin(), left.rend(), std::front_inserter(waiting_));
    return out;
  }

  /// Moves the items whose caller has given up to `ended`.
  void purge(steady_time now, batch& ended) {
    const auto over = std::stable_partition(
        waiting_.begin(), waiting_.end(),
        [now](const entry_type& e) { return e.of->give_up_at() > now && !e.of->dropped(); });
    std::move(over, waiting_.end(), std::back_inserter(ended));
    waiting_.erase(over, waiting_.end());
  }

  /// Empties the queue.
  [[nodiscard]] batch drain() {
    batch out(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
    waiting_.clear();
    return out;
  }

 private:
  /// The claim in the batch whose verdict also answers this claim; null if there is none.
  static entry_type* twin_in(batch& batch, const entry_type& type) {
    if constexpr (requires { Kind::alike(type.item(), type.item()); }) {
      if (type.doubtful || type.item().repeated) return nullptr;  // it may hold the lease itself
      for (auto& one : batch) {
        if (one.item().id == type.item().id) {
          return Kind::alike(one.item(), type.item()) ? &one : nullptr;
        }
      }
    }
    return nullptr;
  }

  std::deque<entry_type> waiting_;
};

}  // namespace onceguard::postgres
