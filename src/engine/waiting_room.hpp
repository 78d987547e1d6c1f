// Requests that wait for their running twin (on_busy = "wait").
#pragma once
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <onceguard/record.hpp>

namespace onceguard {

/// Thread-safe. Waiters hold no connection of any pool, only their place here.
class waiting_room {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit waiting_room(std::size_t waiters_max) : waiters_max_(waiters_max) {}

  /// A place in the line of those who wait for one record; given up when it goes.
  class place;
  /// Null where the room is full. `executor` is the one of the waiting coroutine.
  [[nodiscard]] std::unique_ptr<place> enter(const record_id& id,
                                             const boost::asio::any_io_executor& executor);

  /// Something became of the record: everybody asks again.
  void wake_all(const record_id& id);
  /// The record is free: one goes and runs, the rest wait on.
  void wake_one(const record_id& id);

 private:
  struct waiter {
    explicit waiter(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    bool called = false;  // touched by the waiter's own thread only
  };
  using waiter_ptr = std::shared_ptr<waiter>;
  struct id_hash {
    std::size_t operator()(const record_id& id) const noexcept {
      std::size_t h = 0;
      std::memcpy(&h, id.data(), sizeof h);
      return h;
    }
  };

  void leave(const record_id& id, const waiter_ptr& who) noexcept;
  [[nodiscard]] bool is_first(const record_id& id, const waiter_ptr& who);
  static void call(const waiter_ptr& who);

  const std::size_t waiters_max_;
  std::atomic<std::size_t> inside_{0};
  std::mutex mutex_;
  std::unordered_map<record_id, std::vector<waiter_ptr>, id_hash> waiting_;
};

class waiting_room::place {
 public:
  place(waiting_room& room, record_id id, waiter_ptr self)
      : room_(room), id_(id), self_(std::move(self)) {}
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() { room_.leave(id_, self_); }

  /// Comes back when called, or when the time is up. The first in the line comes back after
  /// `look_again` at the latest, to ask the store on behalf of all: the record's holder may be
  /// another process.
  boost::asio::awaitable<void> wait(time_point until, std::chrono::milliseconds look_again);

 private:
  waiting_room& room_;
  const record_id id_;
  const waiter_ptr self_;
};

}  // namespace onceguard
