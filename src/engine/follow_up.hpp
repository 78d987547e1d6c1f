// The background work that remains of a request: settles that the store did not take in time, and
// claims in doubt.
#pragma once
#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_set>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>

#include "core/record_id_hash.hpp"

namespace onceguard {

class store_monitor;
class unknown_outcomes;
class waiting_room;

/// Thread-safe. Must outlive the coroutines that it starts; these end with their io_context.
class follow_up {
 public:
  follow_up(store& records, const engine_params& params, store_monitor& monitor,
            waiting_room& waiting, byte_budget& budget, engine_counters& counters,
            unknown_outcomes& unknowns)
      : store_(records),
        params_(params),
        monitor_(monitor),
        waiting_(waiting),
        budget_(budget),
        counters_(counters),
        unknowns_(unknowns) {}

  /// Repeats a settle until the store has taken it. `upstream` is for the log. `room` is the
  /// reservation that the answer has already.
  void settle(boost::asio::io_context& io, settlement request, std::string upstream,
              byte_reservation room);
  void settle(boost::asio::io_context& io, settlement request, std::string upstream) {
    settle(io, std::move(request), std::move(upstream), byte_reservation(budget_));
  }
  /// Starts a settle that was not tried yet.
  void settle_now(boost::asio::io_context& io, settlement request, std::string upstream);
  /// For a claim whose reply did not come: finds out whether the claim was granted a lease, and
  /// releases the lease. Nothing was sent under that lease.
  void claim_in_doubt(boost::asio::io_context& io, claim request);
  void log_failed_settle(const settlement& request, const error& why);

  void stop() noexcept { stopping_ = true; }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  [[nodiscard]] std::size_t pending() const noexcept { return claims_ + settles_; }
  /// Whether a claim or a settle of the record is followed up.
  [[nodiscard]] bool concerns(const record_id& id) const {
    const std::lock_guard lock(mutex_);
    return ids_.contains(id);
  }

 private:
  class in_flight_guard;
  boost::asio::awaitable<void> keep_settling(settlement request, std::string upstream,
                                             byte_reservation room, in_flight_guard guard,
                                             bool tried);
  boost::asio::awaitable<void> resolve_claim(claim request, in_flight_guard guard);

  store& store_;
  const engine_params& params_;
  store_monitor& monitor_;
  waiting_room& waiting_;
  byte_budget& budget_;
  engine_counters& counters_;
  unknown_outcomes& unknowns_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> claims_{0};
  std::atomic<std::size_t> settles_{0};
  mutable std::mutex mutex_;
  std::unordered_multiset<record_id, record_id_hash> ids_;
};

}  // namespace onceguard
