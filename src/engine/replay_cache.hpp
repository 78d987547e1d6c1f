// Answers of completed records, in memory, so that a repeat need not touch the store.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <onceguard/record.hpp>

namespace onceguard {

struct cached_replay {
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
};

/// The least recently used go first when the bytes are used up. An entry is served only while its
/// epoch is the present one: whoever hears that an operator released a completed record begins a
/// new epoch, and an entry carries that of the time *before* its claim was sent. So an answer
/// that was read before the release can't slip in after it. Thread-safe.
class replay_cache {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit replay_cache(std::size_t bytes_max) : bytes_max_per_shard_(bytes_max / shards) {}

  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return epoch_.load(std::memory_order_acquire);
  }
  /// Nothing that is known now is served any more.
  void begin_epoch() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
  /// Serves nothing while suspended.
  void suspend(bool yes) noexcept { suspended_.store(yes, std::memory_order_release); }

  [[nodiscard]] std::optional<cached_replay> find(const record_id& id, const fingerprint& print,
                                                  time_point now);
  void put(const record_id& id, const fingerprint& print, cached_replay what, time_point ends,
           std::uint64_t epoch);
  void erase(const record_id& id);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct entry {
    record_id id;
    fingerprint print;
    cached_replay what;
    time_point ends;
    std::uint64_t epoch;
    std::size_t bytes;
  };
  struct id_hash {
    std::size_t operator()(const record_id& id) const noexcept {
      std::size_t h = 0;
      std::memcpy(&h, id.data() + 1, sizeof h);  // a digest is as good as any hash
      return h;
    }
  };
  struct shard {
    mutable std::mutex mutex;
    std::list<entry> recent;  // front: the latest
    std::unordered_map<record_id, std::list<entry>::iterator, id_hash> by_id;
    std::size_t bytes = 0;
    void drop(std::list<entry>::iterator it);
  };
  static constexpr std::size_t shards = 8;

  shard& shard_of(const record_id& id) noexcept { return shards_[id[0] % shards]; }

  std::array<shard, shards> shards_;
  const std::size_t bytes_max_per_shard_;
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<bool> suspended_{true};  // until the store was first heard
};

}  // namespace onceguard
