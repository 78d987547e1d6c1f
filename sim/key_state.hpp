// What the checker knows of one key while it reads a history.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <onceguard/record.hpp>

namespace onceguard::sim {

struct completion {
  token under = 0;
  std::uint64_t body = 0;
  std::int64_t until = 0;
};

/// All that is known of one key while its history is read.
struct key_state {
  // Of its present life, which ends with the retention of its answer, or with an operator's
  // release.
  std::optional<completion> completed;
  std::size_t effects = 0;
  std::uint64_t effect_body = 0;
  std::uint32_t effect_print = 0;
  bool answered = false;  ///< a client got a success
  // Of the lease that was granted last.
  token last = 0;
  std::int64_t lease_end = 0;
  bool unsettled = false;
  bool ended_by_boot = false;   ///< for the store, whatever its holder knows
  std::int64_t counted_at = 0;  ///< from when on its length counts
  bool may_have_run = false;
  bool probes = false;
  bool earlier_unknown = false;  ///< an earlier lease may have taken effect
  token at_work = 0;             ///< the lease under which somebody works now
  // Of its whole history.
  bool in_doubt = false;
  std::optional<token> known_done;  ///< a holder has the answer of this lease's work
  bool dispatched = false;
  std::map<std::uint64_t, std::uint32_t> print_of_body;
  std::map<std::uint64_t, std::int64_t> completed_bodies;  ///< when they were stored first
  std::int64_t last_complete_at = 0;
  std::map<std::uint64_t, std::int64_t> open_requests;  ///< when they arrived
  std::map<std::uint64_t, std::int64_t> arrivals;       ///< of all, each for the first time
  std::set<token> known_lost;                           ///< their holders know it
  token freed_up_to = 0;                                ///< an operator says: none of these ran
  std::int64_t written_at = -1;                         ///< in the store, last
  bool forgotten = false;  ///< the store has lost what it wrote of it: until the next lease, all
                           ///< may happen again
  std::map<std::uint64_t, std::int64_t>
      released_bodies;  ///< since when an operator wants none of it
  // Of the lives before that lease.
  token lost_up_to = 0;                 ///< their last lease
  std::int64_t granted_anew_at = 0;     ///< when that life began
  std::set<std::uint64_t> lost_bodies;  ///< their answers
  bool failed = false;

  [[nodiscard]] bool is_leased(std::int64_t time) const noexcept {
    return time < lease_end && !ended_by_boot;
  }
  void lease(std::int64_t time, std::int64_t end) noexcept {
    counted_at = time;
    lease_end = end;
    ended_by_boot = false;
  }
  void forget() {
    forgotten = true;
    released_bodies.clear();  // the release may be what is forgotten
  }
  void begin_life() {
    completed.reset();
    effects = 0;
    answered = false;
    in_doubt = false;
    known_done.reset();
    dispatched = false;
    unsettled = false;
    may_have_run = false;
    earlier_unknown = false;
    at_work = 0;
  }
};

}  // namespace onceguard::sim
