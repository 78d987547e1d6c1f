// The records that were written or read last, so that most settles and replays read no file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <onceguard/record.hpp>

#include "core/record_id_hash.hpp"
#include "store/earlier_boot.hpp"
#include "store/journal/segment.hpp"

namespace onceguard::journal {

struct cached_record {
  frame_location location;  ///< of the frame that it was, so that an older state is noticed
  std::uint32_t boot = 0;   ///< which has seen it so
  record_in_boot seen;
};

/// Two halves: when the young one is full, it becomes the old one, and what was old is forgotten.
/// What is found in the old half becomes young again. Used by one thread.
class record_cache {
 public:
  explicit record_cache(std::size_t size) : half_(size / 2) {}

  /// Null: it is not there.
  [[nodiscard]] const cached_record* find(const record_id& id, const frame_location& location) {
    if (const auto found = young_.find(id); found != young_.end()) {
      return found->second.location == location ? &found->second : nullptr;
    }
    const auto found = old_.find(id);
    if (found == old_.end() || found->second.location != location) return nullptr;
    auto kept = std::move(found->second);
    old_.erase(found);
    return add(id, std::move(kept));
  }
  void put(const record_id& id, cached_record kept) { add(id, std::move(kept)); }

 private:
  static constexpr std::size_t overhead = 512;  // of a record and its place in a table

  const cached_record* add(const record_id& id, cached_record kept) {
    const auto size = overhead + kept.location.body_size;
    if (size > half_) return nullptr;
    if (used_ + size > half_) {
      old_ = std::exchange(young_, {});
      used_ = 0;
    }
    used_ += size;
    return &young_.insert_or_assign(id, std::move(kept)).first->second;
  }

  const std::size_t half_;
  std::size_t used_ = 0;
  std::unordered_map<record_id, cached_record, record_id_hash> young_;
  std::unordered_map<record_id, cached_record, record_id_hash> old_;
};

}  // namespace onceguard::journal
