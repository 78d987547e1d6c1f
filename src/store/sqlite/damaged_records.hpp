// Remembers for a short time which records could not be read because of a bad page or a bad sector.
// Such a record fails its whole transaction, which is then repeated without the record. The memory
// spares the other records of later batches that repetition.
#pragma once
#include <optional>
#include <unordered_map>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "core/record_id_hash.hpp"

namespace onceguard::sqlite {

/// Used by one thread.
class damaged_records {
 public:
  static constexpr std::chrono::seconds remembered{5};
  static constexpr std::size_t most = 4'096;

  void add(const record_id& id, const error& why) {
    if (known_.size() >= most) known_.clear();
    known_.insert_or_assign(id, entry{why, base::boot_now() + remembered});
  }
  /// The error of that record, if it is still remembered; else null.
  [[nodiscard]] const error* find(const record_id& id) {
    if (known_.empty()) return nullptr;
    const auto position = known_.find(id);
    if (position == known_.end()) return nullptr;
    if (base::boot_now() < position->second.until) return &position->second.why;
    known_.erase(position);
    return nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }
  void forget_all() { known_.clear(); }

 private:
  struct entry {
    error why;
    base::boot_clock::time_point until;
  };
  std::unordered_map<record_id, entry, record_id_hash> known_;
};

}  // namespace onceguard::sqlite
