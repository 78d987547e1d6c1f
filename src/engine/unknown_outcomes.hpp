// Logs and counts each record that becomes unknown, once.
#pragma once
#include <cstdint>
#include <string_view>

#include <onceguard/engine.hpp>

#include "base/recent_marks.hpp"

namespace onceguard {

/// Thread-safe, without locks. Remembers a bounded number of records: of a record that was
/// displaced, a second event may come. The reason is the one that the record has, and that lists
/// show.
class unknown_outcomes {
 public:
  explicit unknown_outcomes(engine_counters& counters) : counters_(counters) {}

  /// The store has taken a settle. Logs it if the record is unknown from now on. `upstream` may be
  /// empty; `about` is the subject of the record.
  void settled(const settlement& request, const onceguard::settled& reply, const subject* about,
               std::string_view upstream);
  /// A claim was answered. Logs the record if it was met unknown and its holder is gone, as nobody
  /// has settled it then; also if the claim got a lease to ask or to run again.
  void met(const operation& op, const verdict& found);
  /// The operation begins to run, and its outcome is not unknown any more. If it becomes unknown
  /// again, that is another event.
  void began(const record_id& id) noexcept;

 private:
  struct details {
    std::string_view route;
    unknown_reason why = unknown_reason::none;
    std::string_view upstream;
    std::uint16_t upstream_status = 0;
  };
  void log(const record_id& id, const details& seen);

  static constexpr std::size_t remembered = 4'096;
  using mark = std::uint64_t;  // the first bytes of the record's id
  static mark mark_of(const record_id& id) noexcept;
  engine_counters& counters_;
  base::recent_marks logged_{remembered};
};

}  // namespace onceguard
