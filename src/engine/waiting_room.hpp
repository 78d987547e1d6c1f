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

/// The outcome that one request got, with the data by which its twins decide whether to use it.
struct twin_outcome {
  fingerprint print;
  const route_policy* policy = nullptr;
  onceguard::outcome outcome;
};
using twin_outcome_ptr = std::shared_ptr<const twin_outcome>;

/// The requests that wait for one record form a queue. The first request polls the store on behalf
/// of all; the store's answer is announced to the others. Thread-safe. A waiting request holds no
/// connection of any pool, only its ticket.
class waiting_room {
 public:
  using time_point = base::boot_clock::time_point;

  explicit waiting_room(std::size_t waiters_max) : waiters_max_(waiters_max) {}

  /// A position in the queue of one record; given up when the ticket is destroyed.
  class ticket;
  /// Null if the room is full. `executor` is that of the waiting coroutine.
  [[nodiscard]] std::unique_ptr<ticket> enter(const record_id& id,
                                              const boost::asio::any_io_executor& executor);

  /// The record may have changed: wakes the first request in the record's queue to poll the store.
  void poll(const record_id& id);
  /// The same for records of which only the first 8 bytes of the id are known. Cheap if no request
  /// waits.
  void poll_by_prefix(const std::vector<std::uint64_t>& prefixes);
  /// Announces the outcome to all requests in the record's queue.
  void announce(const record_id& id, const twin_outcome_ptr& outcome);
  /// Whether no request waits.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return inside_.load(); }

 private:
  struct waiter {
    explicit waiter(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    // Used only on the waiter's thread.
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
  // Sorted, so that a prefix finds its records.
  std::map<record_id, std::vector<waiter_ptr>> waiting_;
};

class waiting_room::ticket {
 public:
  /// What ended a wait.
  enum class woken : std::uint8_t {
    to_poll,    ///< poll the store
    announced,  ///< `announced()` has the outcome
    late,       ///< the time is up without an announcement
  };

  ticket(waiting_room& room, record_id id, waiter_ptr self)
      : room_(room), id_(id), self_(std::move(self)) {}
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;
  ~ticket() { room_.leave(id_, self_); }

  [[nodiscard]] bool first() const { return room_.is_first(id_, self_); }
  /// Ends the wait, or the next one. May be called from any thread.
  void call() { waiting_room::call(self_); }
  /// Returns when the waiter is called, when an outcome is announced, or when the time is up. For
  /// the first waiter in the queue, returns after `twin_poll` at the latest: the lease may belong
  /// to another process, and its end may not be announced.
  boost::asio::awaitable<woken> wait(time_point until, std::chrono::milliseconds twin_poll);
  [[nodiscard]] const twin_outcome_ptr& announced() const noexcept { return announced_; }

 private:
  waiting_room& room_;
  const record_id id_;
  const waiter_ptr self_;
  twin_outcome_ptr announced_;
};

}  // namespace onceguard
