// The markers that this process has placed in the accelerator, those that it must still remove, and
// those that may be outdated. Each list is bounded: a marker that falls out of its list expires in
// the accelerator.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"
#include "store/tiered/bounded_map.hpp"

namespace onceguard::tiered {

/// A marker: a lease in the accelerator, beside the lease that the truth granted. Repeats that find
/// the marker are busy without a call of the truth.
struct marker {
  record_id id{};
  subject_ptr about;
  onceguard::token token = 0;  ///< 0: the claim of the marker is in doubt
};

/// A marker or copy that may be in the accelerator and must be removed.
struct leftover {
  record_id id{};
  subject_ptr about;
  std::optional<onceguard::claim_id> claim_id;  ///< the holder of the marker; empty: of any claim
  std::uint64_t entry = 0;                      ///< the number of the entry in marker_table
};

/// A record whose lease an operator ended.
struct ended_record {
  record_id id{};
  std::uint64_t entry = 0;  ///< the number of the entry in marker_table
};

/// Settles the marker that the claim `holder` placed.
[[nodiscard]] settlement settle_marker(const marker& lease_marker, const claim_id& holder,
                                       settle_terms terms);

[[nodiscard]] extension extend_marker(const marker& lease_marker, const claim_id& holder,
                                      milliseconds length);

/// Releases a marker by the claim id alone: its token may never have arrived here.
[[nodiscard]] settlement release_marker(const record_id& slot_id, const subject_ptr& about,
                                        const claim_id& holder);

/// Thread-safe.
class marker_table {
 public:
  using time_point = base::boot_clock::time_point;

  // --- leases that this process holds, and their markers -----------------------------------
  /// `reply`: the marker; empty: none was placed.
  void add_lease(const claim_id& holder, std::optional<marker> reply);
  [[nodiscard]] bool has_lease(const claim_id& holder) const;
  [[nodiscard]] std::optional<marker> marker_of(const claim_id& holder) const;
  std::optional<marker> end_lease(const claim_id& holder);  ///< its marker, if it has one
  /// The lease goes on without a marker.
  std::optional<marker> take_marker(const claim_id& holder);

  // --- what is still to be removed -----------------------------------------------------------
  void remove_later(leftover leftover);
  [[nodiscard]] std::vector<leftover> leftovers(std::size_t most) const;
  [[nodiscard]] std::size_t removals_waiting() const;
  /// Of an entry that leftovers() gave. An entry that was made meanwhile for the same slot stays.
  void leftover_removed(const leftover& removed);
  /// An operator ended the lease of this record, and the marker of any process may still be there.
  /// By the record's id, because the slot depends on the epoch in which the marker is removed.
  void clear_later(const record_id& id);
  [[nodiscard]] std::vector<ended_record> records_to_clear(std::size_t most) const;
  /// Of an entry that records_to_clear() gave. An entry that was made meanwhile stays.
  void record_cleared(const ended_record& cleared);

  // --- records that others have settled lately -------------------------------------------
  void note_settled(const std::vector<std::uint64_t>& prefixes, time_point time);

  /// Whether a marker that was found in `slot_id` may be outdated. `id`: the record's.
  [[nodiscard]] bool may_be_outdated(const record_id& id, const record_id& slot_id,
                                     time_point now) const;
  /// Whether the truth is to be asked about a record whose marker says busy: now and then it is.
  [[nodiscard]] bool is_to_be_confirmed(const record_id& id, time_point now);

 private:
  struct prefix {
    std::uint64_t value = 0;
    friend bool operator==(const prefix&, const prefix&) = default;
  };

  mutable std::mutex mutex_;
  bounded_map<claim_id, std::optional<marker>> leases_{100'000};
  bounded_map<record_id, leftover> leftovers_{100'000};
  bounded_map<record_id, ended_record> records_to_clear_{100'000};
  std::uint64_t entries_ = 0;  ///< made so far, of both lists
  bounded_map<prefix, time_point> settled_lately_{4'096};
  bounded_map<record_id, time_point> confirmed_{16'384};
};

}  // namespace onceguard::tiered
