// The reference store: a map, a mutex and the pure state machine. Its records end with the process.
#pragma once
#include <map>
#include <mutex>
#include <unordered_map>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "core/record_id_hash.hpp"
#include "store/registry.hpp"
#include "store/store_overrides.hpp"
#include "store/wall_guard.hpp"

namespace onceguard {

/// Every call completes without waiting, so `timeout` is ignored. Thread-safe.
class memory_store final : public store {
 public:
  /// `clock` must outlive the store.
  explicit memory_store(const base::clock& clock = base::system_clock());

  ONCEGUARD_STORE_OVERRIDES;

 private:
  struct entry {
    std::uint64_t number;  ///< in the order of the first claims
    record stored;
  };

  [[nodiscard]] const record* find_record(const record_id& id) const;
  void put(const record_id& id, record stored);
  result<verdict> apply(const onceguard::claim& request, const instant& now);
  result<settled> apply(const settlement& request, const instant& now);
  result<bool> apply(const extension& request, const instant& now);
  template <class Outcome, class Item>
  std::vector<result<Outcome>> apply_all(const std::vector<Item>& batch);

  const base::clock& clock_;
  std::mutex mutex_;
  wall_guard guard_;
  std::unordered_map<record_id, entry, record_id_hash> records_;
  std::map<std::uint64_t, record_id> order_;
  std::uint64_t next_number_ = 1;
  token last_token_;
  onceguard::vitals vitals_;
  bool stopped_ = false;
};

/// Opens a store for the URL `memory:`.
[[nodiscard]] const store_kind& memory_store_kind() noexcept;

}  // namespace onceguard
