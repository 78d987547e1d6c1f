// The state that the parts of an engine share.
#pragma once
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <onceguard/engine.hpp>

#include "engine/follow_up.hpp"
#include "engine/held_lease.hpp"
#include "engine/replay_cache.hpp"
#include "engine/scope_quotas.hpp"
#include "engine/scope_watch.hpp"
#include "engine/store_monitor.hpp"
#include "engine/unknown_outcomes.hpp"
#include "engine/waiting_room.hpp"

namespace onceguard {

/// The leases that are held now, so that a shutdown can end them. Thread-safe.
class lease_list {
 public:
  using position = std::list<std::shared_ptr<lease_handle::state>>::iterator;

  [[nodiscard]] position add(const std::shared_ptr<lease_handle::state>& held) {
    const std::lock_guard lock(mutex_);
    return held_.insert(held_.end(), held);
  }
  void remove(position held) {
    const std::lock_guard lock(mutex_);
    held_.erase(held);
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  /// Whether a lease of the record is held whose settle would count, as far as its holder knows.
  [[nodiscard]] bool holds(const record_id& id) const;
  [[nodiscard]] std::vector<std::shared_ptr<lease_handle::state>> all() const {
    const std::lock_guard lock(mutex_);
    return {held_.begin(), held_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<lease_handle::state>> held_;
};

struct engine::state {
  state(store& used, engine_params given, byte_budget& budget)
      : records(used),
        params(std::move(given)),
        cache(params.replay_cache),
        waiting(params.max_waiters),
        monitor(records, params, cache, counters),
        unknowns(counters),
        scopes(counters),
        behind(records, params, monitor, waiting, budget, counters, unknowns) {}

  store& records;
  const engine_params params;
  engine_counters counters;
  replay_cache cache;
  waiting_room waiting;
  store_monitor monitor;
  unknown_outcomes unknowns;
  scope_watch scopes;
  scope_quotas quotas;
  follow_up behind;
  lease_list leases;
  std::atomic<std::size_t> leases_by_rounds{0};
  std::atomic<bool> listening{false};
  std::atomic<boost::asio::io_context*> background_io{nullptr};  ///< that of start()

  [[nodiscard]] std::optional<cached_replay> find_replay(const record_id& id,
                                                         const fingerprint& print);
  /// Puts a stored answer into the replay cache, if it may be served from there.
  void remember(const operation& op, answer_ptr answer, answer_kept kept, milliseconds retention,
                std::uint64_t epoch);
  /// Takes note of a claim's verdict. Becomes busy what is unknown only because the store was away
  /// for longer than a lease, and this process has yet to tell it how the attempt ended.
  /// `reporting`: that was so when the claim was sent.
  void met(const operation& op, verdict& found, bool reporting);
  /// Announces the outcome to the requests that wait for the same record.
  void announce(const operation& op, const outcome& outcome);
  /// Renews the leases of claims that were made without an io_context.
  boost::asio::awaitable<void> keep_renewing_by_rounds();
};

}  // namespace onceguard
