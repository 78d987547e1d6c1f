// Answers of completed records in memory, so that a repeat does not use the store.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <onceguard/engine.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// Evicts the least recently used entries when the bytes are used up. An entry is served only while
/// its epoch is the present one. A process that learns that an operator released a completed record
/// begins a new epoch. An entry has the epoch of the time *before* its claim was sent, so an answer
/// that was read before the release can't enter the cache after the release. Thread-safe.
class replay_cache {
 public:
  using time_point = base::boot_clock::time_point;

  explicit replay_cache(std::size_t bytes_max);
  ~replay_cache();

  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return epoch_.load(std::memory_order_acquire);
  }
  /// No entry of an earlier epoch is served any more.
  void begin_epoch() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
  /// Entries may be served until `end`, as far as this process knows; nothing is served later. Each
  /// look-up reads the clock itself, because a process that was frozen, or whose poll of the store
  /// hangs, can't be notified in time.
  void trust_until(time_point end) noexcept {
    trusted_until_.store(end.time_since_epoch().count(), std::memory_order_release);
  }

  [[nodiscard]] std::optional<cached_replay> find(const record_id& id, const fingerprint& print,
                                                  time_point now);
  void put(const record_id& id, const fingerprint& print, cached_replay replay, time_point ends,
           std::uint64_t epoch);

  struct extent {
    std::size_t answers = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] extent size() const;

 private:
  struct shard;

  static constexpr std::size_t shards = 8;

  [[nodiscard]] shard& shard_of(const record_id& id) const noexcept;

  const std::unique_ptr<shard[]> shards_;
  const std::size_t bytes_max_per_shard_;
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<time_point::rep> trusted_until_{0};  // 0: the store has not answered a poll yet
};

}  // namespace onceguard
