// Requests that wait for their running twin (on_busy = "wait").
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "engine/execution.hpp"

namespace onceguard {

/// What one found out, and others may take over who sent the same.
struct news {
  fingerprint print;
  const route_policy* policy = nullptr;
  execution what;
};
using news_ptr = std::shared_ptr<const news>;

/// Those who wait for one record stand in a line. The first of them asks the store, on behalf of
/// all; what it hears is told to the rest. Thread-safe. Waiters hold no connection of any pool,
/// only their place here.
class waiting_room {
 public:
  using time_point = base::boot_clock::time_point;

  explicit waiting_room(std::size_t waiters_max) : waiters_max_(waiters_max) {}

  /// A place in the line of those who wait for one record; given up when it goes.
  class place;
  /// Null where the room is full. `executor` is the one of the waiting coroutine.
  [[nodiscard]] std::unique_ptr<place> enter(const record_id& id,
                                             const boost::asio::any_io_executor& executor);

  /// Something may have become of the record: the first in its line asks.
  void look(const record_id& id);
  /// The same, for records of which the first 8 bytes are known. Cheap while nobody waits.
  void look_by_prefix(const std::vector<std::uint64_t>& prefixes);
  /// What became of the record: all in its line hear it.
  void tell(const record_id& id, const news_ptr& news);
  /// Is anybody there at all?
  [[nodiscard]] bool empty() const noexcept { return inside_.load() == 0; }

 private:
  struct waiter {
    explicit waiter(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    // Touched by the waiter's own thread only.
    bool called = false;
    news_ptr told;
  };
  using waiter_ptr = std::shared_ptr<waiter>;

  void leave(const record_id& id, const waiter_ptr& waiter) noexcept;
  [[nodiscard]] bool is_first(const record_id& id, const waiter_ptr& waiter);
  static void call(const waiter_ptr& waiter);

  const std::size_t waiters_max_;
  std::atomic<std::size_t> inside_{0};
  std::mutex mutex_;
  std::map<record_id, std::vector<waiter_ptr>> waiting_;  // in order, to find them by a prefix
};

class waiting_room::place {
 public:
  /// What ended a wait.
  enum class woken : std::uint8_t {
    to_look,  ///< ask the store
    told,     ///< `heard()` has what became of the record
    late,     ///< the time is up, and the first in the line knew nothing lately
  };

  place(waiting_room& room, record_id id, waiter_ptr self)
      : room_(room), id_(id), self_(std::move(self)) {}
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() { room_.leave(id_, self_); }

  [[nodiscard]] bool first() const { return room_.is_first(id_, self_); }
  /// Comes back when called or told, or when the time is up. The first in the line comes back
  /// after `look_again` at the latest: the record's holder may be another process, and nobody
  /// may say when it ends.
  boost::asio::awaitable<woken> wait(time_point until, std::chrono::milliseconds look_again);
  [[nodiscard]] const news_ptr& heard() const noexcept { return heard_; }

 private:
  waiting_room& room_;
  const record_id id_;
  const waiter_ptr self_;
  news_ptr heard_;
};

}  // namespace onceguard
