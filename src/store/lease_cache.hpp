// The records of the leases that this process got, so that a settle or a renewal needs no reading
// of the record first.
#pragma once
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include <onceguard/record.hpp>

#include "core/record_id_hash.hpp"

namespace onceguard {

/// A cache: a lease that is missing here costs its settle one more round trip, and a record that
/// has changed meanwhile is noticed by the condition of its write. Thread-safe. A `Lease` has the
/// member `stored`, with the record.
template <class Lease>
class lease_cache {
 public:
  void put(const record_id& id, Lease held) {
    const std::lock_guard lock(mutex_);
    if (leases_.size() >= most) leases_.erase(leases_.begin());
    leases_.insert_or_assign(id, std::move(held));
  }
  /// Takes the lease out if it is this one.
  [[nodiscard]] std::optional<Lease> take(const record_id& id, token token,
                                          const claim_id& claim_id) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) return std::nullopt;
    const auto& record = found->second.stored.record;
    if (record.token != token || record.claim_id != claim_id) return std::nullopt;
    auto out = std::move(found->second);
    leases_.erase(found);
    return out;
  }

 private:
  /// Leases that nobody settles are dropped at some time.
  static constexpr std::size_t most = 65'536;

  std::mutex mutex_;
  std::unordered_map<record_id, Lease, record_id_hash> leases_;
};

}  // namespace onceguard
