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

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// What one request found out. Others who sent the same may take it over.
struct twin_outcome {
  fingerprint print;
  const route_policy* policy = nullptr;
  onceguard::outcome outcome;
};
using twin_outcome_ptr = std::shared_ptr<const twin_outcome>;

/// Those who wait for one record form a queue. The first of them asks the store, on behalf of all;
/// the store's answer is announced to the rest. Thread-safe. Waiters hold no connection of any
/// pool, only their ticket here.
class waiting_room {
 public:
  using time_point = base::boot_clock::time_point;

  explicit waiting_room(std::size_t waiters_max) : waiters_max_(waiters_max) {}

  /// A position in the queue of one record; given up when the ticket is destroyed.
  class ticket;
  /// Null where the room is full. `executor` is the one of the waiting coroutine.
  [[nodiscard]] std::unique_ptr<ticket> enter(const record_id& id,
                                              const boost::asio::any_io_executor& executor);

  /// Something may have become of the record: the first in its line asks.
  void poll(const record_id& id);
  /// The same, for records of which the first 8 bytes are known. Cheap while nobody waits.
  void poll_by_prefix(const std::vector<std::uint64_t>& prefixes);
  /// What became of the record: all in its line hear it.
  void announce(const record_id& id, const twin_outcome_ptr& outcome);
  /// Is anybody there at all?
  [[nodiscard]] bool empty() const noexcept { return inside_.load() == 0; }

 private:
  struct waiter {
    explicit waiter(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    // Touched by the waiter's own thread only.
    bool called = false;
    twin_outcome_ptr announced;
  };
  using waiter_ptr = std::shared_ptr<waiter>;

  void leave(const record_id& id, const waiter_ptr& waiting) noexcept;
  [[nodiscard]] bool is_first(const record_id& id, const waiter_ptr& waiting);
  static void call(const waiter_ptr& waiting);

  const std::size_t waiters_max_;
  std::atomic<std::size_t> inside_{0};
  std::mutex mutex_;
  std::map<record_id, std::vector<waiter_ptr>> waiting_;  // in order, to find them by a prefix
};

class waiting_room::ticket {
 public:
  /// What ended a wait.
  enum class woken : std::uint8_t {
    to_poll,    ///< ask the store
    announced,  ///< `announced()` has what became of the record
    late,       ///< the time is up, and the first in the line knew nothing lately
  };

  ticket(waiting_room& room, record_id id, waiter_ptr self)
      : room_(room), id_(id), self_(std::move(self)) {}
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;
  ~ticket() { room_.leave(id_, self_); }

  [[nodiscard]] bool first() const { return room_.is_first(id_, self_); }
  /// Comes back when called or told, or when the time is up. The first in the line comes back
  /// after `look_again` at the latest: the record's holder may be another process, and nobody
  /// may say when it ends.
  boost::asio::awaitable<woken> wait(time_point until, std::chrono::milliseconds twin_poll);
  [[nodiscard]] const twin_outcome_ptr& announced() const noexcept { return announced_; }

 private:
  waiting_room& room_;
  const record_id id_;
  const waiter_ptr self_;
  twin_outcome_ptr announced_;
};

}  // namespace onceguard
