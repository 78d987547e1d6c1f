// What this process has put into the accelerator and must see to, and what it may not believe of
// it meanwhile. Each list is bounded: what falls out of it ends by its own time.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"
#include "store/tiered/bounded_map.hpp"

namespace onceguard::tiered {

/// A marker in the accelerator: a lease there, beside the one that the truth gave.
struct marker {
  record_id id{};
  subject_ptr about;
  onceguard::token token = 0;  ///< 0: nobody knows whether it is there
};

/// What may stand in the accelerator and should not.
struct leftover {
  record_id id{};
  subject_ptr about;
  std::optional<onceguard::claim_id>
      claim_id;  ///< the marker of this claim; none: of several, whichever it is
};

/// Thread-safe.
class marker_table {
 public:
  using time_point = base::boot_clock::time_point;

  // --- leases that this process holds, and their markers -----------------------------------
  /// `what`: none: nothing was put there now.
  void hold(const claim_id& holder, std::optional<marker> reply);
  [[nodiscard]] std::optional<marker> find(const claim_id& holder) const;
  std::optional<marker> take(const claim_id& holder);  ///< the lease is over
  std::optional<marker> take_mark(const claim_id& holder);

  // --- what is still to be removed -----------------------------------------------------------
  void leave(leftover leftover);
  [[nodiscard]] std::vector<leftover> left(std::size_t most) const;
  [[nodiscard]] std::size_t left_count() const;
  void removed(const record_id& id);
  /// An operator ended what stood in that record, and its marker may still be there, whosever it
  /// is. By the record: in which epoch it is looked for next, nobody may know at that moment.
  void end(const record_id& id);
  [[nodiscard]] std::vector<record_id> ended(std::size_t most) const;
  void dropped(const record_id& id);

  // --- records that others have settled just now -------------------------------------------
  void settled(const std::vector<std::uint64_t>& prefixes, time_point time);

  /// Is a marker there perhaps an old one? `id`: of the record, `at`: its place.
  [[nodiscard]] bool outdated(const record_id& id, const record_id& slot_id, time_point now) const;

 private:
  struct prefix {
    std::uint64_t value = 0;
    friend bool operator==(const prefix&, const prefix&) = default;
  };

  mutable std::mutex mutex_;
  bounded_map<claim_id, std::optional<marker>> held_{100'000};
  bounded_map<record_id, leftover> left_{100'000};
  bounded_map<record_id, record_id> ended_{100'000};
  bounded_map<prefix, time_point> settled_{4'096};
};

}  // namespace onceguard::tiered
